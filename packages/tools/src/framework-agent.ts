/**
 * What agents of other frameworks share: they know messages and tools, a turn knows events and state. Each event becomes a
 * message, the conversation is kept in `turn.state`, and what the model says becomes the reply. Nothing of it is written
 * before the turn's commit, so a turn that dies is asked again from where the last good one ended.
 *
 * Where a tool wants leave first, the turn ends with the question; "yes" lets it, anything else does not.
 */

import type { Agent, AgentLimits } from '../../../src/agents/agent.ts'
import { agent, type PastEvent, type Turn } from '../../../src/agents/function.ts'
import { askedMs } from '../../../src/core/backoff.ts'
import { retryAfterOf } from '../../../src/core/calls/signature.ts'
import { errorText, RetryableError, TerminalError } from '../../../src/core/errors.ts'
import { TEXT_MAX_BYTES } from '../../../src/core/session.ts'
import { storableText } from '../../../src/core/text.ts'
import { yesOrNo } from '../../../src/features/questions/rules.ts'

const REMEMBERED = 200
/** Of a state's megabyte, so that there is room for what else the agent keeps. */
const REMEMBERED_MAX_BYTES = 512 * 1024
const REFUSED_MAX = 5
const QUESTION_INPUT_MAX = 500

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A tool that wants leave before it runs. */
export interface AskedCall {
  readonly tool: string
  readonly input: unknown
}

export interface FrameworkOptions extends AgentLimits {
  /** What the model is told of an event; null: it is not asked, and nothing is said. */
  readonly words?: (event: PastEvent) => string | null
  /** What the person is asked before tools run that want leave. */
  readonly question?: (calls: readonly AskedCall[]) => string
  /** How many messages are kept, the newest; 200 by default. */
  readonly remember?: number
  /** What tokens cost; the turn reports it beside their number. */
  readonly usd?: (usage: Usage) => number
}

/** What one run of a framework came to. */
export interface Ran {
  readonly text: string
  /** The whole conversation, as the framework takes it back. */
  readonly messages: readonly unknown[]
  readonly usage: Usage
  /** How often the model was asked; once where the framework does not tell. */
  readonly calls: number
  /** Tools that want leave; none where it has finished. */
  readonly asks: readonly AskedCall[]
  /** JSON that `resume` needs beside the messages. */
  readonly pending?: unknown
}

/** A framework's own way to run, for one turn. */
export interface Runs {
  run(messages: readonly unknown[]): Promise<Ran>
  /** Goes on where it asked for leave. */
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
  if (words === null) return
  const messages = Array.isArray(turn.state.messages) ? (turn.state.messages as unknown[]) : []
  const { pending } = turn.state
  const spend = (ran: Ran): Ran => {
    const { calls, usage } = ran
    const tokens = usage.inputTokens + usage.outputTokens
    turn.spent({ tokens, usd: options.usd?.(usage) ?? 0, calls: Math.max(1, calls) })
    return ran
  }
  const remark = turn.remark === null ? '' : `\n\n[${turn.remark}]`
  const told = { role: 'user', content: `${words}${remark}` }
  if (pending === undefined)
    return conclude(turn, spend(await runs.run([...messages, told])), options)
  const answer = turn.event.type === 'user_message' ? yesOrNo(words) : null
  let ran = spend(await runs.resume(messages, pending, answer === 'yes'))
  if (answer !== null) return conclude(turn, ran, options)
  // Something else has come between: what was asked for is not done, and the conversation goes on from there.
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
  const isAsked = turn.event.type === 'user_message'
  if (text.trim() !== '' && (isAsked || !NOTHING.test(text))) turn.reply(sayable(text))
  if (asks.length > 0) turn.reply(sayable((options.question ?? questionOf)(asks)))
}

/** How a model that was not asked says that it has nothing to say. */
const NOTHING = /^\W*nothing\W*$/i

/** A quarter of the limit in characters fits in bytes whatever they are. */
const sayable = (text: string) => storableText(text, TEXT_MAX_BYTES / 4)

/** As JSON that can be kept. */
function keepable<T>(value: T): T {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? each.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd') : each,
  )
  return JSON.parse(text) as T
}

/** The newest, from a message of the user on: an answer without its question, or a result without its call, would be refused. */
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

type Payload = Readonly<Record<string, unknown>>

/** What an event says to a model that knows messages alone. What is not the user's stands in brackets. */
function wordsOf({ type, payload }: PastEvent): string {
  const said = (payload ?? {}) as Payload
  switch (type) {
    case 'user_message':
      return String(said.text)
    case 'timer':
      return `[follow-up ${said.timer_id}: the user has not written since you set it. ${SILENTLY}]${carried(said.payload)}`
    case 'alarm':
      return `[alarm, due ${said.scheduled_for}] ${said.wake_message}${carried(said.payload)}`
    case 'intent':
      return `[intent ${said.intent_name}] ${said.action_context}${carried(payload)}`
    case 'tool_result':
      return `[result of ${said.tool_id}]${carried(said.payload)}`
    default:
      return `[${type}]${carried(payload)}`
  }
}

const SILENTLY = 'Answer NOTHING to stay silent.'

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

/** What a failed call of a model means for the turn: never again, not before a while, or as any error. */
function steering(thrown: unknown, now: Date): unknown {
  // After several tries the last error counts.
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
