/** What an agent's function gets: the event, the state, and what it may say, set and read. */

import { isUuid } from '../core/ids.ts'
import type { EventType } from '../core/session.ts'
import { dayAndTime } from '../core/words.ts'
import { type TurnPerson, turnPerson } from '../features/people/person.ts'
import type { AnsweredQuestion } from '../features/questions/rules.ts'
import type { ScheduleSpec } from '../features/schedules/spec.ts'
import type { ScheduleView } from '../features/schedules/view.ts'
import type { Silence } from '../features/sessions/gate.ts'
import { setsTrigger, type TriggerCommand, type TurnAction } from '../features/sessions/turn.ts'
import type { LiveText, Spent, TurnInput } from './agent.ts'
import { type AgentEvent, agentEvent } from './events.ts'
import * as messages from './messages.ts'
import * as reads from './reads.ts'
import * as requests from './requests.ts'
import * as schedules from './schedules.ts'
import { PendingCalls } from './tracked.ts'

const HISTORY_MAX = 500
const EXPLAINED_MAX = 100
const OUTPUTS_MAX = 50
const OVER = 'this turn is over: await everything you start'

export type PastEvent = AgentEvent

/** A person as a turn sees them. */
export interface PersonOfTurn extends TurnPerson {
  readonly id: string
  /** While nobody knows it, the server's own. */
  readonly timeZone: string
  /** When the turn began, by the database's time. */
  readonly now: Date
  /** The same where they are: `Wednesday 2026-11-18 10:20`. */
  readonly localTime: string
  readonly preferences: TurnPerson
}

/** What the function gets. */
export class Turn<State extends object = Record<string, unknown>> {
  /** Its payload is known by its type. */
  readonly event: AgentEvent
  /** Earlier messages that this turn answers together with its event, oldest first; empty unless the agent's `whileRunning` says so. */
  readonly merged: readonly AgentEvent[]
  readonly session: {
    readonly key: string
    readonly userId: string
    readonly agentId: string
    readonly threadId: string
  }
  readonly attempt: number
  /** Why it runs once more, before anything of its first answer is written; null the first time. */
  readonly remark: string | null
  /** A JSON object; change it in place. What it is at the end is committed. */
  state: Partial<State>
  readonly #input: TurnInput
  readonly #wishes: TurnAction[] = []
  readonly #calls = new PendingCalls()
  #spent: Spent | undefined
  #streams = false
  #over = false

  constructor(input: TurnInput) {
    const { event, session } = input
    this.#input = input
    this.event = agentEvent(event, event.createdAt)
    this.merged = (event.merged ?? []).map((each) => agentEvent(each, each.createdAt))
    const { key, userId, agentId, threadId } = session
    this.session = { key, userId, agentId, threadId }
    this.attempt = input.attempt
    this.remark = input.remark ?? null
    this.state = (input.state === null ? {} : JSON.parse(input.state)) as Partial<State>
  }

  /** Whom this is with: their zone, their time of day, and what they said of when to speak to them. */
  get person(): PersonOfTurn {
    const preferences = this.#input.person ?? turnPerson(null, 'UTC', this.startedAt)
    const { timezone: timeZone } = preferences
    const now = this.startedAt
    const localTime = dayAndTime(now.getTime(), timeZone)
    return { ...preferences, id: this.session.userId, timeZone, now, localTime, preferences }
  }

  /** Changes what the person wants, as they said; null empties, what is left out stays. Throws a `Refusal`. */
  setPreferences(wish: reads.PreferenceRequest): void {
    const preferences = reads.preferenceWish(wish, this.person, this.startedAt)
    this.#command('digest', { preferences })
  }

  /** What waits for its moment, soonest first: the answer to "what did I miss?". */
  deferred(): Promise<reads.Deferred[]> {
    return reads.deferredFor(this.#input)
  }

  /** By the database's time; what a phrase such as "in 10 minutes" counts from. */
  get startedAt(): Date {
    return this.#input.startedAt
  }

  /** Aborted when the turn's time is up, its lease is lost, or the process stops. */
  get signal(): AbortSignal {
    return this.#input.signal
  }

  /**
   * Sends a message: an answer, or a word of the agent's own. Delivered after the commit, in order, until acknowledged. A stream of
   * texts is read while the turn runs; over a person's message, open sockets show the first one as it is written.
   */
  say(text: string): void
  say(text: AsyncIterable<string>): Promise<string>
  say(text: string | AsyncIterable<string>): undefined | Promise<string> {
    if (messages.isStream(text)) return this.#calls.track(() => this.#sayStream(text))
    this.#ask({ type: 'send_message', content: messages.sayable('say', text) })
    return undefined
  }

  async #sayStream(stream: AsyncIterable<string>): Promise<string> {
    const live = this.#streams ? undefined : this.#input.live
    this.#streams = true
    // Its place among the messages is that of the call.
    const wish = { type: 'send_message' as const, content: '' }
    this.#ask(wish)
    try {
      wish.content = await messages.readStream(stream, this.#input.signal, live)
      return wish.content
    } catch (error) {
      live?.retract()
      this.#wishes.splice(this.#wishes.indexOf(wish), 1)
      throw error
    }
  }

  /**
   * Sets what wakes this agent, or is done for it, at a time, again and again, or when a condition becomes true; written with the
   * turn's commit. The same id again replaces it, also by another kind of time. Throws a `Refusal` with all that is wrong.
   */
  schedule(id: string, spec: ScheduleSpec): schedules.Scheduled {
    const plan = schedules.planFor(id, spec, this.#input)
    this.#replace(id, schedules.scheduleWishes(id, plan))
    return schedules.scheduledOf(plan)
  }

  /** Removes a schedule by its id, or by the `ref` that `scheduled` answered. One that does not exist is no error. */
  cancel(id: string): void {
    this.#replace(id, schedules.cancelWishes(id))
  }

  /** What is ahead for this person and agent, soonest first, with what this turn has asked for. */
  scheduled(): Promise<ScheduleView[]> {
    return this.#calls.track(() => schedules.scheduledFor(this.#input, this.#wishes))
  }

  #replace(name: string, wishes: readonly TurnAction[]): void {
    const before = this.#wishes.length
    for (const wish of wishes) this.#ask(wish)
    const kept = this.#wishes.filter((wish, nth) => nth >= before || !schedules.isAbout(name, wish))
    this.#wishes.splice(0, this.#wishes.length, ...kept)
  }

  /**
   * Asks the person, with buttons where their channel has them: durable, answered once, by a message, a call or the declared
   * default. The answer comes as an event of its own, see `answer`. Answers with the question's id. Throws a `Refusal`.
   */
  ask(text: string, request: messages.QuestionRequest = {}): string {
    const { wish, id } = messages.questionWish(text, request, this.#input)
    this.#ask(wish)
    return id
  }

  /** Withdraws a question of this user and agent. One that has ended or does not exist is no error. */
  cancelQuestion(id: string): void {
    requests.requireId(id, 'cancelQuestion', 'ask')
    this.#command('tool_result', { cancel_question: id })
  }

  /** The question that this event answers, and with what; null where it answers none. */
  get answer(): AnsweredQuestion | null {
    for (const { type, payload } of [this.event, ...this.merged]) {
      const answer = messages.answeredIn(type, payload)
      if (answer !== null) return answer
    }
    return null
  }

  /** Says nothing, on purpose: the reason is kept with the turn and shown by the ledger. */
  silent(reason?: string): void {
    this.#ask({ type: 'silence', verdict: messages.silenceOf('silent', { reason }) })
  }

  /** Reports what this turn has used up, as often as it likes: it adds up, and is kept with the turn. */
  spent({ tokens = 0, usd = 0, calls = 1 }: Partial<Spent>): void {
    if (this.#over) throw new Error(OVER)
    if (![tokens, usd, calls].every((amount) => Number.isFinite(amount) && amount >= 0))
      throw new TypeError('spent: takes tokens, usd and calls, each a number from 0 on')
    const before = this.#spent ?? { tokens: 0, usd: 0, calls: 0 }
    this.#spent = {
      tokens: before.tokens + tokens,
      usd: before.usd + usd,
      calls: (before.calls ?? 0) + calls,
    }
  }

  /** What the runs of one work came to, newest first; null where there is no such work of this user. */
  async workOutputs(id: string, limit = 5): Promise<reads.OwnOutput[] | null> {
    const count = Math.max(1, Math.min(OUTPUTS_MAX, Math.floor(limit)))
    return isUuid(id) ? reads.ownOutputs(this.#input, id, count) : null
  }

  /** The names of those who do work here. */
  get workTypes(): readonly string[] {
    return this.#input.workTypes ?? []
  }

  /** Why this agent recently wrote unasked here, or did not: newest first, then how its intents stand. */
  explained(limit = 20): Promise<reads.Explained[]> {
    return reads.explained(this.#input, Math.max(1, Math.min(EXPLAINED_MAX, Math.floor(limit))))
  }

  /** The newest events up to this one, oldest first. */
  async history(limit = 50): Promise<PastEvent[]> {
    const count = Math.max(1, Math.min(HISTORY_MAX, Math.floor(limit)))
    const rows = await reads.history(this.#input, count)
    return rows.map((row) => agentEvent(row, row.created_at))
  }

  #command(trigger: EventType, ask: TriggerCommand): void {
    this.#ask({ type: 'trigger_command', trigger, ask })
  }

  #ask(wish: TurnAction): void {
    if (this.#over) throw new Error(OVER)
    const refusal = setsTrigger(wish) ? this.#input.refusal?.() : null
    if (refusal) throw refusal
    this.#wishes.push(wish)
  }

  /** For what no method of a turn says: `commands.ts`, and the wire formats of LangGraph. */
  static add(turn: Turn<object>, wish: TurnAction): void {
    turn.#ask(wish)
  }

  /** Its promise is awaited before the commit. */
  static track<T>(turn: Turn<object>, call: () => Promise<T>): Promise<T> {
    return turn.#calls.track(call)
  }

  /** Records what a model wrote in a turn that no message began: it is shown by the ledger and not delivered. */
  static record(turn: Turn<object>, rule: Silence['rule'], text: string): void {
    turn.#ask({ type: 'silence', verdict: messages.silenceOf(rule, { text }) })
  }

  /** What an adapter needs beside: what the turn began with, and what it has asked for so far. */
  static inside(turn: Turn<object>): { input: TurnInput; asked: readonly TurnAction[] } {
    return { input: turn.#input, asked: turn.#wishes }
  }

  /** For text as a model writes it; null where nobody may see it, or nobody looks. */
  static live(turn: Turn<object>): LiveText | null {
    const { live } = turn.#input
    return live?.watched ? live : null
  }

  /** Waits for what its methods have begun; fails with a call that failed and that nobody awaited. */
  static settle(turn: Turn<object>): Promise<void> {
    return turn.#calls.settle()
  }

  /** Closes the turn and says what it wants. */
  static finish(turn: Turn<object>): {
    wishes: TurnAction[]
    state: string
    spent: Spent | undefined
  } {
    turn.#over = true
    return { wishes: turn.#wishes, state: requests.stateText(turn.state), spent: turn.#spent }
  }

  static abandon(turn: Turn<object>): void {
    turn.#over = true
  }
}
