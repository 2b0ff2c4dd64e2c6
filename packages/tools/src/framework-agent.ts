/**
 * What agents of other frameworks share. Each event becomes a message, and the conversation is kept in `turn.state`. Over a
 * user's message the model's text is the reply; in any other turn the model sends a message or stays silent by a tool call, and
 * its text is recorded and not delivered. Nothing is written before the turn commits, so a crashed turn restarts from the last
 * committed one.
 *
 * If a tool needs approval, the turn ends with the question; "yes" approves it, anything else does not.
 */

import type { Agent } from '../../../src/agents/agent.ts'
import {
  agent,
  type FunctionAgentOptions,
  type PastEvent,
  Turn,
} from '../../../src/agents/function.ts'
import { askedMs } from '../../../src/core/backoff.ts'
import { retryAfterOf } from '../../../src/core/calls/signature.ts'
import { errorText, RetryableError, TerminalError } from '../../../src/core/errors.ts'
import { TEXT_MAX_BYTES } from '../../../src/core/session.ts'
import { storableText } from '../../../src/core/text.ts'
import { yesOrNo } from '../../../src/features/questions/rules.ts'
import { formatLocal } from '../../schedule/src/index.ts'
import { isPrompted } from './decide.ts'

const REMEMBERED = 200
/** A state holds 1 MB; this leaves room for the agent's own data. */
const REMEMBERED_MAX_BYTES = 512 * 1024
const REFUSED_MAX = 5
const QUESTION_INPUT_MAX = 500

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A tool call that needs approval. */
export interface AskedCall {
  readonly tool: string
  readonly input: unknown
}

export interface FrameworkOptions extends Omit<FunctionAgentOptions, 'runsInForecasts'> {
  /** The message to the model for an event; null: the model is not asked, and the turn is silent. */
  readonly words?: (event: PastEvent) => string | null
  /** The question to the person about tool calls that need approval. */
  readonly question?: (calls: readonly AskedCall[]) => string
  /** How many of the newest messages are kept; 200 by default. */
  readonly remember?: number
  /** The cost of the tokens, which the turn reports. */
  readonly usd?: (usage: Usage) => number
}

/** The result of one run of a framework. */
export interface Ran {
  readonly text: string
  /** The whole conversation, as the framework takes it back. */
  readonly messages: readonly unknown[]
  readonly usage: Usage
  /** Model calls; 1 if the framework does not report them. */
  readonly calls: number
  /** Tool calls that need approval; empty if the run is finished. */
  readonly asks: readonly AskedCall[]
  /** JSON that `resume` needs beside the messages. */
  readonly pending?: unknown
}

/** A framework's agent, for one turn. */
export interface Runs {
  run(messages: readonly unknown[]): Promise<Ran>
  /** Continues after the approval question. */
  resume(messages: readonly unknown[], pending: unknown, approved: boolean): Promise<Ran>
}

/** `start`: the framework's agent, made for this turn. */
export function frameworkAgent(
  kind: string,
  start: (turn: Turn) => Runs | Promise<Runs>,
  options: FrameworkOptions,
): Agent {
  const made = agent(async (turn) => {
    try {
      await converse(turn, await start(turn), options)
    } catch (error) {
      turn.signal.throwIfAborted()
      throw steering(error, turn.startedAt)
    }
  }, options)
  return { ...made, kind }
}

async function converse(turn: Turn, runs: Runs, options: FrameworkOptions): Promise<void> {
  const words = (options.words ?? wordsOf)(turn.event)
  if (words === null) return turn.silent('the agent has no words for this event')
  const messages = Array.isArray(turn.state.messages) ? (turn.state.messages as unknown[]) : []
  const { pending } = turn.state
  const spend = (ran: Ran): Ran => {
    const { calls, usage } = ran
    const tokens = usage.inputTokens + usage.outputTokens
    turn.spent({ tokens, usd: options.usd?.(usage) ?? 0, calls: Math.max(1, calls) })
    return ran
  }
  const remark = turn.remark === null ? '' : `\n\n[${turn.remark}]`
  const choice = isPrompted(turn) ? '' : `\n\n${CHOICE}`
  const told = { role: 'user', content: `${nowLine(turn)}\n${words}${choice}${remark}` }
  if (pending === undefined)
    return conclude(turn, spend(await runs.run([...messages, told])), options)
  const answer = turn.event.type === 'user_message' ? yesOrNo(words) : null
  let ran = spend(await runs.resume(messages, pending, answer === 'yes'))
  if (answer !== null) return conclude(turn, ran, options)
  // Another event came first: decline the tool calls and continue the conversation.
  for (let refused = 1; ran.asks.length > 0; refused++) {
    if (refused === REFUSED_MAX)
      throw new TerminalError(`the agent asked for leave ${refused} times and was not given it`)
    ran = spend(await runs.resume(ran.messages, ran.pending, false))
  }
  return conclude(turn, spend(await runs.run([...ran.messages, told])), options)
}

function conclude(turn: Turn, ran: Ran, options: FrameworkOptions): void {
  const { text, messages, asks, pending } = ran
  turn.state.messages = remembered(messages, options.remember ?? REMEMBERED)
  if (asks.length > 0) turn.state.pending = keepable(pending ?? true)
  else delete turn.state.pending
  const isBlank = text.trim() === ''
  if (isPrompted(turn) && !isBlank) turn.reply(sayable(text))
  if (asks.length > 0) turn.reply(sayable((options.question ?? questionOf)(asks)))
  const asked = Turn.asked(turn)
  const hasChosen = asked.some(({ type }) => type === 'send_message' || type === 'silence')
  if (isPrompted(turn)) {
    if (!hasChosen) throw new Error('the model gave no answer')
  } else if (!hasChosen) Turn.record(turn, 'undecided', text)
  else if (!isBlank) Turn.record(turn, 'not_delivered', text)
}

/** A character takes at most four bytes. */
const sayable = (text: string) => storableText(text, TEXT_MAX_BYTES / 4)

/** Valid JSON for the store: no NUL, no lone surrogates. */
function keepable<T>(value: T): T {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? each.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd') : each,
  )
  return JSON.parse(text) as T
}

/** The newest messages, starting with one of the user: models refuse a tool result without its call. */
export function remembered(messages: readonly unknown[], most: number): unknown[] {
  const kept = keepable([...messages])
  const sizes = kept.map((message) => Buffer.byteLength(JSON.stringify(message)))
  let bytes = sizes.reduce((sum, size) => sum + size, 0)
  let from = 0
  const isStart = (message: unknown) => (message as { role?: unknown }).role === 'user'
  while (from < kept.length) {
    const fits = kept.length - from <= most && bytes <= REMEMBERED_MAX_BYTES
    if (fits && (from === 0 || isStart(kept[from]))) break
    bytes -= sizes[from] ?? 0
    from++
  }
  return kept.slice(from)
}

/** Models know neither the time nor where the person is: `[now: Wednesday 2026-11-18 10:20 Europe/Berlin]`. */
function nowLine({ startedAt, person }: Turn): string {
  const { timezone, timezoneKnown } = person
  const weekday = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: timezone })
  const minute = Math.floor(startedAt.getTime() / 60_000) * 60_000
  const whose = timezoneKnown ? '' : "; the person's time zone is not known"
  return `[now: ${weekday.format(startedAt)} ${formatLocal(minute, timezone)}${whose}]`
}

type Payload = Readonly<Record<string, unknown>>

/** An event as a message to the model. Text that is not the user's is in brackets. */
function wordsOf({ type, payload }: PastEvent): string {
  const said = (payload ?? {}) as Payload
  switch (type) {
    case 'user_message':
      return String(said.text)
    case 'timer':
      return `[follow-up ${said.timer_id}: the user has not written since you set it]${carried(said.payload)}`
    case 'alarm':
      return `[alarm${named(said.label)}, due ${said.scheduled_for}${missed(said)}] ${said.wake_message}${carried(said.payload)}`
    case 'intent':
      return `[intent ${said.intent_name}${missed(said)}] ${said.action_context}${carried(payload)}`
    case 'tool_result':
      return `[result of ${said.tool_id}]${carried(said.payload)}`
    default:
      return `[${type}]${carried(payload)}`
  }
}

const named = (label: unknown) => (label ? ` "${label}"` : '')
const missed = ({ missed_count: count }: Payload) =>
  typeof count === 'number' && count > 0 ? `, ${count} more slots were missed` : ''

const CHOICE =
  '[The user has not written. Call send_message to write to them, or stay_silent. What you write outside of these tools is not delivered.]'

function carried(payload: unknown): string {
  const text = JSON.stringify(payload ?? {})
  return text === '{}' ? '' : `\n${text}`
}

function questionOf(calls: readonly AskedCall[]): string {
  const each = calls.map(({ tool, input }) => {
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    return `${tool} ${text.slice(0, QUESTION_INPUT_MAX)}`
  })
  return `May I do this? ${each.join('; ')}\nAnswer yes or no.`
}

/** Maps an error of a model call: not retryable, retry later, or any other error. */
function steering(thrown: unknown, now: Date): unknown {
  // After several attempts the last error counts.
  const { lastError: error = thrown } = (thrown ?? {}) as { lastError?: unknown }
  const {
    statusCode,
    status = statusCode,
    responseHeaders,
    headers = responseHeaders,
  } = (error ?? {}) as Record<string, unknown>
  if (typeof status !== 'number') return error
  const again = status === 408 || status === 409 || status === 429 || status >= 500
  if (!again && status >= 400) return new TerminalError(errorText(error))
  const after = askedMs(retryAfterOf(headerOf(headers, 'retry-after')), now)
  return after === 0
    ? error
    : new RetryableError({ retryAfterMs: after, message: errorText(error), cause: error })
}

function headerOf(headers: unknown, name: string): string | undefined {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : (headers as Record<string, unknown> | undefined)?.[name]
  return typeof value === 'string' ? value : undefined
}
