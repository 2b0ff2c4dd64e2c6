/** The turn of a remote agent. It has the verbs of a local turn; Wakeful validates what it asks for when the answer arrives. */
import type { AgentEvent } from '../../../src/agents/events.ts'
import type { AnsweredQuestion } from '../../../src/features/questions/rules.ts'
import type { ScheduleSpec } from '../../../src/features/schedules/spec.ts'

/** The body of a call. */
export interface PostedTurn {
  readonly type: 'turn'
  readonly session: { readonly key: string; readonly [name: string]: string }
  readonly person?: { readonly [name: string]: unknown }
  readonly event: PostedEvent
  readonly merged?: readonly PostedEvent[]
  readonly state: Record<string, unknown>
  readonly history: readonly PostedEvent[]
  readonly attempt: number
  readonly deadline: string
  readonly remark?: string
}

interface PostedEvent {
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly payload: unknown
  readonly created_at: string
}

export interface PersonOfTurn {
  readonly id: string
  /** While nobody knows it, the server's own. */
  readonly timeZone: string
  readonly timezoneKnown: boolean
  /** When the turn began, by Wakeful's time. */
  readonly now: Date
  /** The same where they are: `Wednesday 2026-11-18 10:20`. */
  readonly localTime: string
}

export interface QuestionOptions {
  /** Yes and No by default. */
  readonly options?: readonly string[]
  /** Counts from `until` on. */
  readonly default?: string
  readonly until?: string
  /** Handed back with the answer. */
  readonly payload?: unknown
}

export type AgentFunction<State extends object = Record<string, unknown>> = (
  turn: RemoteTurn<State>,
) => unknown

export interface RemoteAgent {
  readonly run: AgentFunction<Record<string, unknown>>
}

/** An agent whose whole memory is `turn.state`, a JSON object. */
export function agent<State extends object = Record<string, unknown>>(
  run: AgentFunction<State>,
): RemoteAgent {
  return { run: run as unknown as RemoteAgent['run'] }
}

/** Ends the turn without a retry. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'
}

/** Has the turn retried, no sooner than `retryAfterMs` from now. */
export class RetryableError extends Error {
  override readonly name = 'RetryableError'
  readonly retryAfterMs: number

  constructor({ retryAfterMs = 0, message = 'try again later' } = {}) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

type Effect = Readonly<Record<string, unknown>>

const OVER = 'this turn is over: await everything you start'
const WIRE: Readonly<Record<string, string>> = {
  cancelOnReply: 'cancel_on_reply',
  timeZone: 'timezone',
  catchUp: 'catch_up',
  catchUpWithinSeconds: 'catch_up_within_seconds',
  silentFor: 'silent_for',
}

/** Renames camelCase fields to the names of the HTTP API. */
function wired(spec: object): Record<string, unknown> {
  const fields = Object.entries(spec).map(([name, value]) => {
    const nested = name === 'when' && typeof value === 'object' && value !== null
    return [WIRE[name] ?? name, nested ? wired(value) : value]
  })
  return Object.fromEntries(fields)
}

function eventOf({ created_at: at, ...event }: PostedEvent): AgentEvent {
  const createdAt = new Date(at)
  return { ...event, createdAt, created_at: createdAt } as unknown as AgentEvent
}

/** What the function gets. Nothing it asks for happens before Wakeful has committed the turn. */
export class RemoteTurn<State extends object = Record<string, unknown>> {
  /** Its payload is known by its type. */
  readonly event: AgentEvent
  /** Earlier messages that this turn answers, too, oldest first. */
  readonly merged: readonly AgentEvent[]
  readonly session: {
    readonly key: string
    readonly userId: string
    readonly agentId: string
    readonly threadId: string
  }
  readonly person: PersonOfTurn
  /** From 1. */
  readonly attempt: number
  readonly startedAt: Date
  /** Why it runs once more, before anything of its first answer is written; null the first time. */
  readonly remark: string | null
  /** Aborted when the turn's time is up, or the request has ended. */
  readonly signal: AbortSignal
  /** Change it in place. What it is at the end is committed. */
  state: Partial<State>
  readonly #posted: PostedTurn
  readonly #stateBefore: string
  readonly #effects: Effect[] = []
  readonly #pending: Promise<unknown>[] = []
  #spent: { tokens: number; usd: number; calls: number } | undefined
  #over = false

  constructor(posted: PostedTurn, signal: AbortSignal) {
    const { session, person = {}, event, merged = [], attempt, remark, state } = posted
    this.#posted = posted
    this.#stateBefore = JSON.stringify(state)
    this.event = eventOf(event)
    this.merged = merged.map(eventOf)
    const { key, user_id: userId = '', agent_id: agentId = '', thread_id: threadId = '' } = session
    this.session = { key, userId, agentId, threadId }
    this.startedAt = new Date(String(person.now ?? event.created_at))
    this.person = {
      id: userId,
      timeZone: String(person.timezone ?? 'UTC'),
      timezoneKnown: person.timezone_known === true,
      now: this.startedAt,
      localTime: String(person.local_time ?? ''),
    }
    this.attempt = attempt
    this.remark = remark ?? null
    this.signal = signal
    this.state = state as Partial<State>
  }

  /** Sends a message. A stream of texts is read whole while the turn runs. */
  say(text: string): void
  say(text: AsyncIterable<string>): Promise<string>
  say(text: string | AsyncIterable<string>): undefined | Promise<string> {
    if (typeof text === 'string') {
      this.#ask({ type: 'send_message', content: said(text) })
      return undefined
    }
    // Its place among the messages is that of the call.
    const effect = { type: 'send_message', content: '' }
    this.#ask(effect)
    const read = readAll(text, this.signal).then((content) => {
      effect.content = said(content)
      return effect.content
    })
    this.#pending.push(read)
    // `finish` awaits it too, so a missing await cannot lose its error.
    void Promise.allSettled([read])
    return read
  }

  /**
   * Sets what wakes this agent, or is done for it. The same name again replaces it. What is wrong with it fails the turn, with the reason.
   */
  schedule(name: string, spec: ScheduleSpec): void {
    this.#ask({ type: 'schedule', name, ...wired(spec) })
  }

  /** Removes a schedule. One that does not exist is no error. */
  cancel(name: string): void {
    this.#ask({ type: 'cancel', name })
  }

  /** Asks the person; the answer comes as an event of its own, see `answer`. */
  ask(text: string, options: QuestionOptions = {}): void {
    this.#ask({ type: 'ask', content: said(text), ...options })
  }

  cancelQuestion(id: string): void {
    this.#ask({ type: 'cancel_question', id })
  }

  /** The question that this event answers, and with what; null where it answers none. */
  get answer(): AnsweredQuestion | null {
    for (const { type, payload } of [this.event, ...this.merged])
      if (type === 'user_message' || type === 'tool_result')
        if (payload.question !== undefined) return payload.question
    return null
  }

  /** Records a deliberate silence; the ledger shows the reason. */
  silent(reason?: string): void {
    this.#ask({ type: 'silent', ...(reason === undefined ? {} : { reason }) })
  }

  /** Reports usage; several calls add up. */
  spent({ tokens = 0, usd = 0, calls = 1 }: { tokens?: number; usd?: number; calls?: number }) {
    const before = this.#spent ?? { tokens: 0, usd: 0, calls: 0 }
    this.#spent = {
      tokens: before.tokens + tokens,
      usd: before.usd + usd,
      calls: before.calls + calls,
    }
  }

  /** The newest events up to this one, oldest first; Wakeful sends the last twenty. */
  async history(limit = 20): Promise<AgentEvent[]> {
    return limit < 1 ? [] : this.#posted.history.slice(-limit).map(eventOf)
  }

  #ask(effect: Effect): void {
    if (this.#over) throw new Error(OVER)
    this.#effects.push(effect)
  }

  /** Waits for pending calls, closes the turn and returns the answer. An unchanged state is left out, so large numbers survive. */
  static async finish(turn: RemoteTurn<object>): Promise<string> {
    await Promise.all(turn.#pending)
    turn.#over = true
    const state = JSON.stringify(turn.state)
    return JSON.stringify({
      ...(state === turn.#stateBefore ? {} : { state: turn.state }),
      effects: turn.#effects,
      spent: turn.#spent,
    })
  }

  static abandon(turn: RemoteTurn<object>): void {
    turn.#over = true
  }
}

function said(text: unknown): string {
  if (typeof text === 'string' && text.trim() !== '') return text
  throw new TypeError('say: takes a text that is not blank')
}

async function readAll(stream: AsyncIterable<string>, signal: AbortSignal): Promise<string> {
  let text = ''
  for await (const delta of stream) {
    signal.throwIfAborted()
    text += delta
  }
  return text
}
