/**
 * Runs somebody else's code so that it harms nobody: bounded in time, aborted when its lease is lost,
 * and unable to end the process by `process.exit`.
 */

import { performance } from 'node:perf_hooks'
import type { Agent, LiveText, TurnInput } from '../agents/agent.ts'
import { TURN_DEATHS_MAX } from '../core/backoff.ts'
import { errorText, Refusal, RetryableError, readableError, TerminalError } from '../core/errors.ts'
import type { Span } from '../core/trace/trace.ts'
import { refusedText } from '../features/limits/rules.ts'
import { turnPerson } from '../features/people/person.ts'
import { reasonOf, type Verdict } from '../features/sessions/gate.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import {
  afterFailure,
  type EffectRow,
  type Failure,
  type Policy,
  type TurnCause,
} from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import { type Budgets, sessionOf } from './budgets.ts'
import type { Committed, Finished } from './commit.ts'
import type { Hints } from './hints.ts'
import type { Meter, TurnRecord } from './meter.ts'

/** Deep enough to find the frame below within any agent's call. */
const STACK_FRAMES = 200
let guarded = false

/**
 * From now on `process.exit` throws when an agent calls it, and works as ever when anybody else does. Who
 * called is read off the stack: async context tracking would tell too, but costs every promise of the
 * process a fifth of its speed on Node 20.
 */
export function guardExit(): void {
  if (guarded) return
  guarded = true
  const exit = process.exit.bind(process)
  process.exit = ((code?: number) => {
    if (calledByAgent()) throw new TerminalError(`the agent called process.exit(${code ?? ''})`)
    exit(code)
  }) as typeof process.exit
}

function calledByAgent(): boolean {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = STACK_FRAMES
  const stack = new Error('who calls?').stack ?? ''
  Error.stackTraceLimit = limit
  return stack.includes(withinTurn.name)
}

/** Its name is the mark on the stack; `await` keeps it there for what the agent does later. */
async function withinTurn<T>(work: () => Promise<T>): Promise<T> {
  return await work()
}

export class AgentTimeoutError extends Error {
  override readonly name = 'AgentTimeoutError'
}

/** The slot of the turn is gone: nobody wants its result. */
export class SlotDeletedError extends TerminalError {}

/** Thrown when a stop applies: the event is held, not failed. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError'
}

/** The person wrote again: another turn answers both messages. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'
}

export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError'
}

/**
 * One bounded run. The signal is made only for agents that ask for it, and deadlines are checked by one
 * sweep over all runs: an AbortController and a timer for each turn cost more than the turn itself.
 */
export class Run {
  readonly deadlineMs: number
  #controller: AbortController | null = null
  #reason: Error | null = null
  #fail: ((reason: Error) => void) | null = null
  #over = false

  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== null) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  /** The agent has answered; what is left is the commit, which has no deadline of its own. */
  get over(): boolean {
    return this.#over
  }

  get aborted(): boolean {
    return this.#reason !== null
  }

  /** The agent is told by its signal; if it does not care, its promise is left behind. */
  abort(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(reason)
    this.#fail?.(reason)
  }

  start<T>(work: () => Promise<T>): Promise<T> {
    if (this.#reason !== null) return Promise.reject(this.#reason)
    return new Promise<T>((resolve, reject) => {
      this.#fail = reject
      withinTurn(work).then(
        (result) => {
          this.#over = true
          resolve(result)
        },
        (error) => {
          this.#over = true
          reject(readableError(error))
        },
      )
    })
  }
}

/** An agent that asks for more is tried again then; an instant beyond what the database knows could not be written. */
const RETRY_AFTER_MAX_MS = 365 * 86_400_000

/** What a turn that threw this comes to. */
export function failureOf(thrown: unknown): Failure {
  const error = readableError(thrown)
  const terminal = error instanceof TerminalError || cannotSucceed(error)
  const asked = error instanceof RetryableError ? Number(error.retryAfterMs) : 0
  const retryAfterMs = Number.isFinite(asked) ? Math.min(asked, RETRY_AFTER_MAX_MS) : 0
  const text = errorText(error) || 'the agent failed without a word'
  return { cause: causeOf(error), terminal, retryAfterMs, text }
}

/** How long an agent's `onFailure` may take. */
const FAILURE_ANSWER_MS = 10_000

/** The failure, with what the agent says about it if a person waits for an answer and no attempt follows. */
export async function answeredFailure(
  claim: ClaimedTurn,
  error: unknown,
  agent: Agent | undefined,
  options: InputOptions & { readonly meter: Meter },
): Promise<Failure> {
  const failure = failureOf(error)
  const isLast = afterFailure(claim.attempt, failure).retryMs === null
  if (agent === undefined || claim.type !== 'user_message' || !isLast) return failure
  const said = await repliesTo(claim, error, agent, options)
  if (said.length > 0) return { ...failure, answer: said }
  const { failureText } = agent
  if (failureText === undefined) return failure
  return { ...failure, answer: failureText === false ? [] : [failureText] }
}

async function repliesTo(
  claim: ClaimedTurn,
  error: unknown,
  agent: Agent,
  options: InputOptions & { readonly meter: Meter },
): Promise<readonly string[]> {
  if (agent.onFailure === undefined) return []
  const run = new Run(0)
  const late = setTimeout(
    () => run.abort(new AgentTimeoutError('onFailure took too long')),
    FAILURE_ANSWER_MS,
  )
  try {
    const input = inputOf(claim, run, options)
    return await run.start(async () => (await agent.onFailure?.(input, error)) ?? [])
  } catch (failed) {
    options.meter.trouble('onFailure', failed)
    return []
  } finally {
    clearTimeout(late)
  }
}

/** Why its agent is not even entered, where that is so. */
export function neverRun(
  { type, deaths }: { readonly type: string; readonly deaths: number },
  withdrawn: boolean,
): Failure | null {
  const given = { terminal: true, retryAfterMs: 0 }
  if (withdrawn) {
    const text = `not run: the ${type} was cancelled before its turn began`
    return { ...given, cause: 'withdrawn', text }
  }
  if (deaths < TURN_DEATHS_MAX) return null
  const text = `given up: the process died ${deaths} times during this turn`
  return { ...given, cause: 'deaths', text }
}

/** Node's fetch reports network failures as a TypeError with a cause: those may pass. So may a refusal for lack of capacity. */
function cannotSucceed(error: unknown): boolean {
  if (error instanceof Refusal)
    return !['unavailable', 'rate_limited', 'conflict'].includes(error.code)
  if (error instanceof TypeError) return error.cause === undefined
  if (error instanceof RangeError || error instanceof SyntaxError) return true
  return error instanceof Error && error.name.endsWith('ZodError')
}

/** Trying again would only ask for it again. */
function isOverBudget(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'over_budget'
}

function causeOf(error: unknown): TurnCause {
  if (isOverBudget(error)) return 'over_budget'
  if (error instanceof SlotDeletedError) return 'deleted'
  return error instanceof AgentTimeoutError ? 'timeout' : 'agent_error'
}

interface InputOptions {
  readonly reads: Db
  readonly policy: Policy
  readonly budgets: Budgets
}

export function inputOf(
  claim: ClaimedTurn,
  run: Run,
  options: InputOptions,
  live?: LiveText | null,
): TurnInput {
  const { reads, policy, budgets } = options
  const { timezone = 'UTC' } = policy
  const session = sessionOf(claim)
  return {
    session,
    event: {
      id: claim.event_id,
      seq: claim.seq,
      type: claim.type,
      payload: claim.payload,
      createdAt: claim.event_created_at,
      ...slotOf(claim),
      ...mergedOf(claim),
    },
    state: claim.state,
    checkpointId: claim.checkpoint_id,
    attempt: claim.attempt + claim.deaths + 1,
    startedAt: claim.now,
    get signal() {
      return run.signal
    },
    get person() {
      return turnPerson(claim.person, timezone, claim.now)
    },
    db: reads,
    ...(live ? { live } : {}),
    // Uncaught, it ends the turn for good.
    refusal: () => {
      const over = budgets.set(claim)
      return over === null ? null : new Refusal('over_budget', refusedText(over, session))
    },
  }
}

function slotOf({ trigger_id: id, scheduled_for: at }: ClaimedTurn): { slot?: string } {
  return id === null || at === null ? {} : { slot: `${id}:${at.getTime()}` }
}

function mergedOf({ merged }: ClaimedTurn): Pick<TurnInput['event'], 'merged'> {
  if (merged === undefined) return {}
  return { merged: merged.map(({ created_at: createdAt, ...event }) => ({ ...event, createdAt })) }
}

/** By the monotonic clock. */
interface Timed {
  readonly claimedMs: number
  /** When the agent was entered; null if it never was. */
  readonly enteredMs: number | null
  readonly span: Span
}

interface ReportOptions {
  readonly hints: Hints
  readonly meter: Meter
  /** Gets the messages of each turn after its commit. */
  readonly onMessages?: OnMessages | undefined
}

export type OnMessages = (claim: ClaimedTurn, messages: readonly EffectRow[]) => void

/** Counts a turn that has ended, and wakes the services that its commit gave something to do. */
export function reportTurn(
  finished: Finished,
  committed: Committed,
  running: Timed,
  { hints, meter, onMessages }: ReportOptions,
): void {
  const { claim, result } = finished
  const { decision, status } = committed
  if (status === 'lost') meter.leasesLost(1)
  const messages = decision?.effects.filter((effect) => effect.status === 'pending') ?? []
  if (messages.length > 0) {
    hints.hint('outbox', [claim.session_key])
    onMessages?.(claim, messages)
  }
  if (decision?.timers.length || decision?.verdicts.some(isDeferred)) hints.hint('clock')
  if (status === 'committed' && result?.wishes.some((wish) => wish.type === 'trigger_command')) {
    hints.hint('clock')
    hints.hint('turns')
  }
  meter.turn(turnRecord(finished, committed, running))
}

const isDeferred = (verdict: Verdict) => 'deferred' in verdict && verdict.deferred

function turnRecord(
  { claim, result, failure }: Finished,
  { decision, status }: Committed,
  { claimedMs, enteredMs, span }: Timed,
): TurnRecord {
  return {
    agentId: claim.agent_id,
    sessionKey: claim.session_key,
    eventSeq: claim.seq,
    eventType: claim.type,
    reason: reasonOf(claim.type),
    payload: claim.payload,
    triggerId: claim.trigger_id,
    slot: claim.scheduled_for,
    attempt: claim.attempt + claim.deaths + 1,
    status,
    durationMs: performance.now() - claimedMs,
    ...lateness(claim, claimedMs, enteredMs),
    checkpointId: result?.checkpointId ?? null,
    error: failure?.text ?? null,
    verdicts: decision?.verdicts ?? [],
    notes: decision?.notes ?? [],
    traceparent: span.traceparent,
  }
}

/** How long after its time an agent was entered. The claim brought the database's time; from there on it is the process's own durations. */
function lateness(claim: ClaimedTurn, claimedMs: number, enteredMs: number | null) {
  if (enteredMs === null || claim.attempt + claim.deaths > 0)
    return { waitMs: null, latenessMs: null }
  const enteredAt = claim.now.getTime() + enteredMs - claimedMs
  const since = (instant: Date) => Math.max(0, enteredAt - instant.getTime())
  return {
    waitMs: since(claim.event_created_at),
    latenessMs: claim.scheduled_for === null ? null : since(claim.scheduled_for),
  }
}
