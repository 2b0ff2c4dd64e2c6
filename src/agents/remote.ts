/**
 * The remote agent: a turn is one signed POST to somebody else's server, and its answer is what the turn
 * wants. Nothing else differs: the same lease, the same commit, the same retries. An alarm of such an agent
 * is a turn over an `alarm` event, and comes by this call like any other.
 */

import { z } from 'zod'
import {
  JsonError,
  OPAQUE_BYTES_MAX,
  type RawJson,
  readJson,
  readLevel,
} from '../../packages/exact-json/src/index.ts'
import { localInstant } from '../../packages/schedule/src/index.ts'
import type { RetryAfter } from '../core/backoff.ts'
import { errorText, type Refusal, RetryableError, TerminalError } from '../core/errors.ts'
import { EFFECTS_PER_TURN_MAX, type EventType } from '../core/session.ts'
import { dayAndTime } from '../core/words.ts'
import type { AgentRow } from '../features/identity/agent-rows.ts'
import { turnPerson } from '../features/people/person.ts'
import { specFromWire } from '../features/schedules/spec.ts'
import type { EventRow } from '../features/sessions/event-rows.ts'
import { setsTrigger, type TurnAction } from '../features/sessions/turn.ts'
import { type Agent, type Spent, stateResult, type TurnInput } from './agent.ts'
import { promiseWish, questionWish, silenceOf } from './messages.ts'
import { history } from './reads.ts'
import { type Effect, effectSchema } from './remote-effects.ts'
import { type AlarmRequest, alarmDraft } from './requests.ts'
import { cancelWishes, isAbout, planFor, scheduleWishes } from './schedules.ts'

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
      const past = await history(input, HISTORY_EVENTS)
      const reply = await ask(
        {
          url: row.url,
          bearer: null,
          secrets: [row.secret],
          id: input.event.slot ?? `${session.key}:${input.event.seq}`,
          at: input.startedAt,
          body: turnBody(input, past, row.timeout_ms),
          timeoutMs: row.timeout_ms + LATE_MS,
          answerMaxBytes: REMOTE_ANSWER_MAX_BYTES,
        },
        input.signal,
      )
      const { state, wishes, spent } = readAnswer(taken(reply, input), input)
      return stateResult(input, wishes, state ?? input.state ?? '{}', spent)
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
  const [now, ...earlier] = [event, ...(event.merged ?? [])].map((each) =>
    eventText({ ...each, created_at: each.createdAt }),
  )
  const merged = earlier.length === 0 ? '' : `"merged":[${earlier.join(',')}],`
  const remark = input.remark === undefined ? '' : `"remark":${JSON.stringify(input.remark)},`
  const deadline = new Date(startedAt.getTime() + timeoutMs).toISOString()
  const person = JSON.stringify(personOf(input))
  return (
    `{"type":"turn",${remark}"session":${JSON.stringify(about)},"person":${person},"event":${now},${merged}"state":${input.state ?? '{}'},` +
    `"history":[${historyTexts(history).join(',')}],"attempt":${input.attempt},"deadline":"${deadline}"}`
  )
}

function personOf({ session, person, startedAt }: TurnInput) {
  const { timezone, timezoneKnown } = person ?? turnPerson(null, 'UTC', startedAt)
  return {
    id: session.userId,
    timezone,
    timezone_known: timezoneKnown,
    now: startedAt.toISOString(),
    local_time: dayAndTime(startedAt.getTime(), timezone),
  }
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

export interface RemoteAnswer {
  /** JSON text of an object; null leaves the state as it is. */
  readonly state: string | null
  readonly spent: Spent | undefined
  readonly wishes: readonly TurnAction[]
}

const ERRORS_MAX = 20
const FIELDS: ReadonlySet<string> = new Set(['state', 'effects', 'spent'])
/** Kept as the text they are. */
const VERBATIM: ReadonlySet<string> = new Set(['payload', 'data', 'with'])

/** Throws one error that says everything that is wrong. */
export function readAnswer(text: string, input: TurnInput): RemoteAnswer {
  const errors: string[] = []
  const { state, effects, spent: used } = membersOf(text, errors)
  const kept = stateOf(state, errors)
  const spent = spentOf(used, errors)
  const wishes = effectsOf(effects, errors).reduce<TurnAction[]>((before, effect, index) => {
    const own = wishOf(effect, index, input, errors)
    const named = effect?.type === 'schedule' || effect?.type === 'cancel' ? effect.name : null
    // The same name again replaces what the answer asked for before.
    return [...(named === null ? before : before.filter((each) => !isAbout(named, each))), ...own]
  }, [])
  const refusal = wishes
    .filter(setsTrigger)
    .reduce<Refusal | null>((found) => found ?? input.refusal?.() ?? null, null)
  if (refusal !== null) throw refusal
  if (errors.length === 0) return { state: kept, wishes, spent }
  const more = errors.length > ERRORS_MAX ? `; and ${errors.length - ERRORS_MAX} more` : ''
  throw new Error(`the agent's answer is wrong: ${errors.slice(0, ERRORS_MAX).join('; ')}${more}`)
}

type Members = { state?: RawJson; effects?: RawJson; spent?: RawJson }

function membersOf(text: string, errors: string[]): Members {
  // An agent with nothing to say may answer with nothing.
  const level = text.trim() === '' ? {} : tried('answer', errors, () => readLevel(text))
  if (level === undefined) return {}
  if (typeof level !== 'object' || level === null || Array.isArray(level)) {
    errors.push('answer: must be an object {state?, effects, spent?}')
    return {}
  }
  for (const name of Object.keys(level))
    if (!FIELDS.has(name)) errors.push(`${JSON.stringify(name.slice(0, 64))}: is not a known field`)
  return level as Members
}

const amount = z.number().min(0).default(0)
const spending = z.strictObject({ tokens: amount, usd: amount, calls: amount.default(1) })

function spentOf(spent: RawJson | undefined, errors: string[]): Spent | undefined {
  if (spent === undefined) return undefined
  const parsed = spending.safeParse(readJson(spent.text))
  if (parsed.success) return parsed.data
  errors.push(
    ...parsed.error.issues.map(
      ({ path, message }) => `${['spent', ...path].join('.')}: ${message}`,
    ),
  )
  return undefined
}

function stateOf(state: RawJson | undefined, errors: string[]): string | null {
  if (state === undefined) return null
  if (!state.text.startsWith('{')) errors.push('state: must be an object')
  return state.text
}

function effectsOf(effects: RawJson | undefined, errors: string[]): (Effect | null)[] {
  if (effects === undefined) return []
  if (!effects.text.startsWith('[')) {
    errors.push('effects: must be a list')
    return []
  }
  const items = readLevel(effects.text) as RawJson[]
  if (items.length > EFFECTS_PER_TURN_MAX) {
    errors.push(`effects: must have at most ${EFFECTS_PER_TURN_MAX} items, has ${items.length}`)
    return []
  }
  return items.map((item, index) => effectOf(item, `effects[${index}]`, errors))
}

function effectOf(item: RawJson, where: string, errors: string[]): Effect | null {
  const value = tried(where, errors, () => readJson(item.text, VERBATIM))
  if (value === undefined) return null
  const parsed = effectSchema.safeParse(value)
  if (parsed.success) return parsed.data
  for (const issue of parsed.error.issues) {
    const path = [where, ...issue.path.map(String)].join('.')
    errors.push(`${path}: ${issue.message}`)
  }
  return null
}

function wishOf(
  effect: Effect | null,
  index: number,
  input: TurnInput,
  errors: string[],
): TurnAction[] {
  if (effect === null) return []
  const payload = effect.type === 'schedule_timer' ? (effect.payload?.text ?? null) : null
  switch (effect.type) {
    case 'send_message':
      return [{ type: 'send_message', content: effect.content }]
    case 'silent': {
      const { reason } = effect
      return [{ type: 'silence', verdict: silenceOf('silent', { reason }) }]
    }
    case 'schedule': {
      const { type: _, name, ...spec } = effect
      const plan = tried(`effects[${index}]`, errors, () =>
        planFor(name, specFromWire(spec), input),
      )
      return plan === undefined ? [] : scheduleWishes(name, plan)
    }
    case 'cancel':
      return tried(`effects[${index}]`, errors, () => cancelWishes(effect.name)) ?? []
    case 'cancel_timer':
      return [{ type: 'cancel_timer', timerId: effect.timer_id }]
    case 'cancel_alarm':
      return [{ type: 'trigger_command', trigger: 'alarm', ask: { cancel: effect.id } }]
    case 'schedule_timer': {
      const { timer_id: timerId, delay_seconds: delay, fire_at: text } = effect
      const at = text === undefined ? null : localInstant(text, 'UTC')
      const fireAt = at === null ? null : new Date(at)
      const delayMs = delay === undefined ? null : delay * 1000
      return [{ type: 'schedule_timer', timerId, fireAt, delayMs, payload }]
    }
    case 'set_alarm': {
      const { type: _, ...request } = effect
      const set = tried(`effects[${index}]`, errors, () =>
        alarmDraft(request as unknown as AlarmRequest, input),
      )
      return set === undefined ? [] : [{ type: 'trigger_command', trigger: 'alarm', ask: { set } }]
    }
    case 'cancel_question': {
      const ask = { cancel_question: effect.id }
      return [{ type: 'trigger_command', trigger: 'tool_result', ask }]
    }
    case 'ask': {
      const { type: _, content, ...asked } = effect
      const request = Object.fromEntries(
        Object.entries(asked).filter(([, each]) => each !== undefined),
      )
      const made = tried(`effects[${index}]`, errors, () => questionWish(content, request, input))
      return made === undefined ? [] : [made.wish]
    }
    case 'promise': {
      const { type: _, content, ...request } = effect
      const made = tried(`effects[${index}]`, errors, () => promiseWish(content, request, input))
      return made === undefined ? [] : [made.wish]
    }
  }
}

/** What cannot be read becomes one more error. */
function tried<T>(where: string, errors: string[], read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    const limits = error instanceof JsonError ? ` (payloads take ${OPAQUE_BYTES_MAX} bytes)` : ''
    errors.push(`${where}: ${errorText(error, 500)}${limits}`)
    return undefined
  }
}
