/**
 * The remote agent: a turn is one signed POST to somebody else's server, and its answer is what the turn
 * wants. Nothing else differs: the same lease, the same commit, the same retries. An alarm of such an agent
 * is a turn over an `alarm` event, and comes by this call like any other.
 */
import type { RetryAfter } from '../core/backoff.ts'
import { RetryableError, TerminalError } from '../core/errors.ts'
import type { EventType } from '../core/session.ts'
import type { AgentRow } from '../features/identity/agent-rows.ts'
import { type EventRow, recentEvents } from '../features/sessions/event-rows.ts'
import { type Agent, stateResult, type TurnInput } from './agent.ts'
import { readAnswer } from './remote-answer.ts'

/** An answer, state included, is at most this long. */
export const REMOTE_ANSWER_MAX_BYTES = 256 * 1024
const HISTORY_EVENTS = 20
/** Older events are left out of the call before it grows beyond this. */
const HISTORY_MAX_BYTES = 256 * 1024
/** Later than the turn's own deadline, which has the better words. */
const LATE_MS = 1_000
const RETRY_AFTER_MAX_MS = 3_600_000
/** Their triggers count failures by rules of their own: no single answer ends them. */
const OWN_RULES: ReadonlySet<EventType> = new Set(['alarm', 'intent', 'work'])
const RETRY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 503])

export interface RemoteCall {
  readonly url: string
  readonly bearer: null
  readonly secrets: readonly string[]
  /** The same for all attempts at one event, or at one slot. */
  readonly id: string
  readonly at: Date
  readonly body: string
  readonly timeoutMs: number
  readonly answerMaxBytes: number
}

export type RemoteReply =
  | {
      readonly status: number
      readonly text: string
      /** It was longer than asked for. */
      readonly cut: boolean
      readonly retryAfter: RetryAfter | null
    }
  /** No answer at all, and why. */
  | { readonly error: string }

export type Ask = (call: RemoteCall, signal: AbortSignal) => Promise<RemoteReply>

export function remoteAgent(row: AgentRow, ask: Ask): Agent {
  return {
    kind: 'remote',
    timeoutMs: row.timeout_ms,
    async run(input) {
      const { session } = input
      if (row.user_id !== null && row.user_id !== session.userId)
        throw new TerminalError(`not run: the agent ${row.id} belongs to another user`)
      const history = await recentEvents(input.db, session, input.event.seq, HISTORY_EVENTS)
      const reply = await ask(
        {
          url: row.url,
          bearer: null,
          secrets: [row.secret],
          id: input.event.slot ?? `${session.key}:${input.event.seq}`,
          at: input.startedAt,
          body: turnBody(input, history, row.timeout_ms),
          timeoutMs: row.timeout_ms + LATE_MS,
          answerMaxBytes: REMOTE_ANSWER_MAX_BYTES,
        },
        input.signal,
      )
      const { state, wishes } = readAnswer(taken(reply, input), input)
      return stateResult(input, wishes, state ?? input.state ?? '{}')
    },
  }
}

/** Written by hand around state and payloads, which stay the text they are. */
function turnBody(input: TurnInput, history: readonly EventRow[], timeoutMs: number): string {
  const { session, event, startedAt } = input
  const about = {
    key: session.key,
    user_id: session.userId,
    agent_id: session.agentId,
    thread_id: session.threadId,
  }
  const now = eventText({ ...event, created_at: event.createdAt })
  const remark = input.remark === undefined ? '' : `"remark":${JSON.stringify(input.remark)},`
  const deadline = new Date(startedAt.getTime() + timeoutMs).toISOString()
  return (
    `{"type":"turn",${remark}"session":${JSON.stringify(about)},"event":${now},"state":${input.state ?? '{}'},` +
    `"history":[${historyTexts(history).join(',')}],"attempt":${input.attempt},"deadline":"${deadline}"}`
  )
}

/** The newest that fit, oldest first. */
function historyTexts(history: readonly EventRow[]): string[] {
  const texts: string[] = []
  let bytes = 0
  for (const event of history.toReversed()) {
    const text = eventText(event)
    bytes += Buffer.byteLength(text)
    if (bytes > HISTORY_MAX_BYTES) break
    texts.unshift(text)
  }
  return texts
}

type Shown = Pick<EventRow, 'id' | 'seq' | 'type' | 'payload' | 'created_at'>

function eventText({ id, seq, type, payload, created_at: at }: Shown): string {
  return `{"id":"${id}","seq":${seq},"type":"${type}","payload":${payload},"created_at":"${at.toISOString()}"}`
}

/** The text of a 2xx answer; anything else is how the turn fails. */
function taken(reply: RemoteReply, { event, startedAt }: TurnInput): string {
  if ('error' in reply) throw new Error(reply.error)
  const { status, text, cut, retryAfter } = reply
  if (status >= 200 && status < 300) {
    if (!cut) return text
    throw new Error(`the agent's answer is longer than ${REMOTE_ANSWER_MAX_BYTES} bytes`)
  }
  const message = text.trim() === '' ? `HTTP ${status}` : `HTTP ${status}: ${text.trim()}`
  if (RETRY_STATUSES.has(status)) {
    const retryAfterMs = Math.min(waitMs(retryAfter, startedAt), RETRY_AFTER_MAX_MS)
    throw new RetryableError({ retryAfterMs, message })
  }
  if (status >= 400 && status < 500 && !OWN_RULES.has(event.type)) throw new TerminalError(message)
  throw new Error(status < 400 ? `${message} (redirects are not followed)` : message)
}

function waitMs(retryAfter: RetryAfter | null, now: Date): number {
  if (retryAfter === null) return 0
  return 'at' in retryAfter
    ? Math.max(0, retryAfter.at.getTime() - now.getTime())
    : retryAfter.afterMs
}
