/**
 * What agents of other frameworks share. Each event becomes a message, and the conversation is kept in `turn.state`. Over a
 * user's message the model's text is the reply; in any other turn the model sends a message or stays silent by a tool call, and
 * its text is recorded and not delivered. Nothing is written before the turn commits, so a crashed turn restarts from the last
 * committed one.
 *
 * If a tool needs approval, the turn ends with the question; "yes" approves it, anything else does not.
 */

import type { Agent, LiveText } from '../../../src/agents/agent.ts'
import {
  agent,
  type FunctionAgentOptions,
  type PastEvent,
  Turn,
} from '../../../src/agents/function.ts'
import { askedMs } from '../../../src/core/backoff.ts'
import { retryAfterOf } from '../../../src/core/calls/signature.ts'
import { errorText, RetryableError, TerminalError } from '../../../src/core/errors.ts'
import { yesOrNo } from '../../../src/features/questions/rules.ts'
import { newest } from './compact.ts'
import { conclude, sayable } from './conclude.ts'
import { promptFor, wordsOf } from './prompt.ts'
import { isPrompted, type TurnToolOptions } from './turn-tools.ts'

const CONTEXT_TOKENS = 32_000
/** A state holds 1 MB; this leaves room for the agent's own data. */
const KEPT_TOKENS = 128_000
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
  /** The message to the model for an event, after the time and the cause; null: the model is not asked, and the turn is silent. */
  readonly words?: (event: PastEvent) => string | null
  /** The question to the person about tool calls that need approval. */
  readonly question?: (calls: readonly AskedCall[]) => string
  /** Which of Wakeful's tools the model gets. */
  readonly tools?: TurnToolOptions
  /** A cheap check of the app's own: false ends the turn silently, before any model is asked. */
  readonly before?: (turn: Turn) => unknown
  /** What the model is shown of the conversation so far; what it leaves out is forgotten. By default the newest messages within `contextTokens`. */
  readonly compact?: (
    turn: Turn,
    messages: readonly unknown[],
  ) => readonly unknown[] | Promise<readonly unknown[]>
  /** About how many tokens of the conversation a model is shown; 32,000 by default. */
  readonly contextTokens?: number
  /** The cost of the tokens, which the turn reports. */
  readonly usd?: (usage: Usage) => number
}

/** The result of one run of a framework. */
export interface Ran {
  readonly text: string
  /** The whole conversation, as the framework takes it back. */
  readonly messages: readonly unknown[]
  readonly usage: Usage
  /** What the framework reports as the cost; `usd` of the options comes first. */
  readonly usd?: number
  /** Model calls; 1 if the framework does not report them. */
  readonly calls: number
  /** Tool calls that need approval; empty if the run is finished. */
  readonly asks: readonly AskedCall[]
  /** JSON that `resume` needs beside the messages. */
  readonly pending?: unknown
}

/** A framework's agent, for one turn. `live`: where the text of the answer is shown while the model writes it; null for nowhere. */
export interface Runs {
  run(messages: readonly unknown[], live: LiveText | null): Promise<Ran>
  /** Continues after the approval question. */
  resume(
    messages: readonly unknown[],
    pending: unknown,
    approved: boolean,
    live: LiveText | null,
  ): Promise<Ran>
}

/** The framework's agent, made for one turn. */
type Start = (turn: Turn) => Runs | Promise<Runs>

export function frameworkAgent(kind: string, start: Start, options: FrameworkOptions): Agent {
  const made = agent(async (turn) => {
    try {
      await converse(turn, start, options)
    } catch (error) {
      turn.signal.throwIfAborted()
      throw steering(error, turn.startedAt)
    }
  }, options)
  return { ...made, kind }
}

async function converse(turn: Turn, start: Start, options: FrameworkOptions): Promise<void> {
  const words = (options.words ?? wordsOf)(turn.event)
  if (words === null) return turn.silent('the agent has no words for this event')
  if (!(await passes(turn, options.before))) return
  const runs = await start(turn)
  const { pending } = turn.state
  const messages = await shownOf(turn, options)
  const spend = (ran: Ran): Ran => {
    const { calls, usage } = ran
    const tokens = usage.inputTokens + usage.outputTokens
    turn.spent({ tokens, usd: options.usd?.(usage) ?? ran.usd ?? 0, calls: Math.max(1, calls) })
    return ran
  }
  const told = { role: 'user', content: await promptFor(turn, words) }
  const live = Turn.live(turn)
  // An earlier run over the same event may have written.
  live?.retract()
  if (pending === undefined)
    return keep(turn, spend(await runs.run([...messages, told], live)), options, live)
  const answer = turn.event.type === 'user_message' ? yesOrNo(words) : null
  let ran = spend(await runs.resume(messages, pending, answer === 'yes', live))
  if (answer !== null) return keep(turn, ran, options, live)
  // Another event came first: decline the tool calls and continue the conversation.
  for (let refused = 1; ran.asks.length > 0; refused++) {
    if (refused === REFUSED_MAX)
      throw new TerminalError(`the agent asked for leave ${refused} times and was not given it`)
    ran = spend(await runs.resume(ran.messages, ran.pending, false, live))
  }
  return keep(turn, spend(await runs.run([...ran.messages, told], live)), options, live)
}

/** What `before` allows. It may have said why not. */
export async function passes(turn: Turn, before: FrameworkOptions['before']): Promise<boolean> {
  if (before === undefined || (await before(turn)) !== false) return true
  const { asked } = Turn.inside(turn)
  if (!asked.some(({ type }) => type === 'silence')) turn.silent('before() answered false')
  return false
}

/** A run that waits for approval goes on from all of its messages. */
async function shownOf(turn: Turn, options: FrameworkOptions): Promise<readonly unknown[]> {
  const { messages, pending } = turn.state
  if (!Array.isArray(messages)) return []
  if (pending !== undefined) return messages
  return (
    options.compact?.(turn, messages) ?? newest(messages, options.contextTokens ?? CONTEXT_TOKENS)
  )
}

function keep(turn: Turn, ran: Ran, options: FrameworkOptions, live: LiveText | null): void {
  const { text, messages, asks, pending } = ran
  live?.settle(sayable(text))
  turn.state.messages = newest(keepable([...messages]), KEPT_TOKENS)
  if (asks.length > 0) turn.state.pending = keepable(pending ?? true)
  else delete turn.state.pending
  if (asks.length === 0) {
    conclude(turn, text)
    return
  }
  const question = (options.question ?? questionOf)(asks)
  if (isPrompted(turn) && text.trim() !== '') turn.say(sayable(text))
  turn.say(sayable(question))
  if (!isPrompted(turn)) conclude(turn, text)
}

/** Valid JSON for the store: no NUL, no lone surrogates. */
function keepable<T>(value: T): T {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'string' ? each.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd') : each,
  )
  return JSON.parse(text) as T
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
