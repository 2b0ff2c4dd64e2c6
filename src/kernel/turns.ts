/**
 * The turns service: claims sessions whose log is ahead, runs each one's agent on the next event under
 * a lease with heartbeat, and hands the outcome to the group commit.
 */
import { performance } from 'node:perf_hooks'
import { newToken } from '../core/ids.ts'
import { type Span, type Tracer, UNTRACED } from '../core/trace/trace.ts'
import { withinMinute } from '../features/limits/minute-rows.ts'
import { type ClaimedTurn, claimTurns } from '../features/sessions/rows.ts'
import type { Failure } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import {
  extendClaims,
  type First,
  newestFirstShare,
  releaseClaims,
  SESSIONS,
} from '../store/due.ts'
import { GroupCommit } from '../store/group.ts'
import { Capacity, type ClaimPlan } from './capacity.ts'
import type { Runner } from './clock.ts'
import { type Committed, commitTurns, type Finished } from './commit.ts'
import { type Due, type Ending, failed, type Gate, gatesOf, HELD, Stopping } from './gates.ts'
import { InFlightTurns, type MaybeInFlight } from './in-flight.ts'
import { LeasedRuns, retryWhileUnavailable } from './leased-runs.ts'
import { type LiveFrame, LiveTurn } from './live.ts'
import { withoutRefused } from './refused-turns.ts'
import {
  answeredFailure,
  InterruptedError,
  inputOf,
  LeaseLostError,
  Run,
  reportTurn,
  StoppedError,
} from './run.ts'
import type { Service, Tick } from './service.ts'
import { abortLate, abortStopped, abortWithdrawn, slotsOfTurns } from './slots.ts'
import { batchSpan, endTurn, turnSpan } from './spans.ts'
import { type CapacityGrant, soonest } from './trigger.ts'
import type { TurnsOptions } from './turns-options.ts'
import { interrupt, mergeWaiting } from './while-running.ts'

interface Running extends Due, MaybeInFlight {
  readonly span: Span
  /** Null: nothing of it is shown before its commit. */
  readonly live: LiveTurn | null
  /** When the agent was entered; null if it never was. */
  enteredMs: number | null
  /** Nothing of its session waits, and what it settled concerns no other. */
  last: boolean
}

const CONCURRENCY = 1500
const CLAIM_MAX = 500
const COMMIT_MAX = 500
/** How exactly an agent's time is kept. */
const DEADLINE_SWEEP_MS = 50
/** How soon it is looked again for sessions that were left out. */
const HELD_BACK_MS = 250
/** How long a stop waits for running agents before their sessions are given back. */
const STOP_GRACE_MS = 8_000

export class TurnsService implements Service, Runner {
  readonly name = 'turns'
  readonly tables = [SESSIONS]
  readonly follows = true
  readonly #options: TurnsOptions
  readonly #running: LeasedRuns<Running>
  readonly #commits: GroupCommit<Finished, Committed>
  readonly #tracer: Tracer
  readonly #places: Capacity
  readonly #inFlight: InFlightTurns
  readonly #stopping: Stopping
  #sweep: NodeJS.Timeout | null = null
  #closed = false
  /** More sessions waited than the last look had places for. */
  #behind = false
  /** Leased under a clock that is moved by hand: they begin with those that are claimed, so that all of an instant are in one order. */
  readonly #waiting: Pick<Running, 'claim' | 'token'>[] = []

  readonly #gates: readonly Gate[]

  constructor(options: TurnsOptions) {
    this.#options = options
    this.#tracer = options.tracer ?? UNTRACED
    this.#running = new LeasedRuns({
      leaseMs: options.leaseMs,
      keyOf: ({ claim }) => claim.session_key,
      extend: (all) => extendClaims(options.claims, SESSIONS, all.map(leaseOf), options.leaseMs),
      lost: ({ run }) => run.abort(new LeaseLostError('the lease was lost')),
      also: (all) => abortWithdrawn(all, options),
      meter: options.meter,
    })
    this.#stopping = new Stopping(options.claims, options.stops)
    this.#gates = gatesOf(options, this.#stopping)
    options.stops.onChange(() => {
      abortStopped(this.#running.runs(), options.stops)
      for (const topic of ['turns', 'clock'] as const) options.hints.local(topic)
    })
    const { concurrency = CONCURRENCY, limited } = options
    this.#places = new Capacity(concurrency, () => this.#running.size, limited)
    const onError = (error: unknown) => options.meter.trouble('leases', error)
    this.#inFlight = new InFlightTurns(options.claims, onError)
    const { policy, triggers } = options
    const how = { policy, triggers }
    this.#commits = new GroupCommit({
      commit: (items) => withoutRefused(items, (turns) => commitTurns(options.commits, turns, how)),
      batchMax: COMMIT_MAX,
      lanes: options.commits.kind === 'postgres' ? 2 : 1,
      queueMax: Number.POSITIVE_INFINITY,
      onFull: () => new Error('unreachable: the queue of commits has no bound of its own'),
      onBatch: (size) => options.meter.batch('turns', size),
    })
  }

  get depth(): number {
    return this.#running.size
  }

  /** What a socket that has just come is shown of the turn that runs. */
  live(key: string): LiveFrame[] {
    return this.#running.get(key)?.live?.frames() ?? []
  }

  async tick(): Promise<Tick> {
    await this.interrupt()
    const limit = this.#options.stops.everything ? 0 : Math.min(this.#places.batch, CLAIM_MAX)
    if (limit <= 0) {
      this.#places.looked(true)
      return { did: 0, more: false, nextMs: null }
    }
    const plan = this.#places.plan(this.#options.agents)
    const first = newestFirstShare(this.#behind, limit)
    const newest = first > 0 ? (await this.#claim(first, plan, 'newest')).did : 0
    const most = limit - newest
    const { did, nextMs } = await this.#claim(most, plan, 'oldest')
    this.#behind = did === most
    this.#places.looked(this.#behind)
    const others = await this.#claimLimited(plan)
    // What holds them back may end in another shard, which tells nobody here.
    const again = this.#places.holdsBack && this.#options.claims.now() === null
    const next = [nextMs, others.nextMs, again ? HELD_BACK_MS : null]
    const more = this.#behind || others.more
    return { did: did + newest + others.did, more, nextMs: soonest(next) }
  }

  /** Looks for messages that interrupt turns. */
  interrupt(): Promise<void> {
    const { claims, agents } = this.#options
    return interrupt(claims, agents, this.#running.runs())
  }

  /** Of agents with limits of their own: they are counted before the claim, since other shards claim meanwhile. */
  async #claimLimited({ limited, notUserIds }: ClaimPlan): Promise<Tick> {
    let [did, more] = [0, false]
    const next: (number | null)[] = []
    for (const { agentId, room, perMinute } of limited) {
      const turns = Math.min(room, this.#places.batch, CLAIM_MAX)
      if (turns <= 0) break
      this.#places.reserve(agentId, turns)
      try {
        const plan = { agentIds: [agentId], notUserIds, perMinute }
        const begun = await this.#claim(turns, plan, 'oldest')
        did += begun.did
        more ||= begun.did === turns
        if (perMinute !== undefined) next.push(begun.nextMs)
      } finally {
        this.#places.reserve(agentId, -turns)
      }
    }
    return { did, more, nextMs: soonest(next) }
  }

  /** Leases sessions that wait and begins their turns. `perMinute`: of the one agent. */
  async #claim(
    limit: number,
    plan: Pick<ClaimPlan, 'agentIds' | 'notUserIds'> & { perMinute?: number | undefined },
    first: First,
  ): Promise<Omit<Tick, 'more'>> {
    const { claims, triggers, leaseMs, agents } = this.#options
    const { agentIds, notUserIds, perMinute: max } = plan
    const token = newToken()
    const startedMs = performance.now()
    const how = { first, notUserIds }
    const take = (db: Db, most: number) => claimTurns(db, most, leaseMs, token, agentIds, how)
    const [agentId = ''] = agentIds
    const { taken, nextMs = null } =
      max === undefined
        ? { taken: await take(claims, limit) }
        : await withinMinute(claims, { agentId, max, limit }, take)
    const turns = await mergeWaiting(claims, agents, taken?.turns ?? [])
    batchSpan(this.#tracer, 'claim turns', startedMs, turns.length)
    for (const due of await slotsOfTurns(claims, triggers, turns)) this.#start({ ...due, token })
    this.#startWaiting()
    return { did: turns.length, nextMs: nextMs ?? taken?.nextMs ?? null }
  }

  async lend(patient: boolean): Promise<CapacityGrant | null> {
    const halted = this.#closed || this.#options.stops.everything
    const places = halted ? 0 : await this.#places.lend(CLAIM_MAX, patient)
    if (places === 0) return null
    const { leaseMs, agents } = this.#options
    const whose = this.#places.lendable(agents)
    return { places, leaseMs, token: newToken(), ...whose }
  }

  async take({ places, token }: CapacityGrant, turns: readonly ClaimedTurn[]): Promise<void> {
    this.#places.back(places)
    this.#inFlight.begin(token, turns)
    this.#waiting.push(...turns.map((claim) => ({ claim, token })))
    if (this.#closed) await this.#release(this.#waiting.splice(0))
    else if (this.#options.claims.now() === null) this.#startWaiting()
    else this.#options.hints.local('turns')
  }

  #startWaiting(): void {
    for (const due of this.#waiting.splice(0))
      this.#start({ ...due, withdrawn: false, slots: undefined })
  }

  async #release(held: readonly Pick<Running, 'claim' | 'token'>[]): Promise<void> {
    if (held.length > 0) await releaseClaims(this.#options.claims, SESSIONS, held.map(leaseOf))
  }

  async settle(): Promise<void> {
    this.#startWaiting()
    await this.#running.settle()
    await this.#inFlight.settle()
  }

  /** Running turns may finish; those that do not in time are aborted and their sessions given back untouched. */
  async close(): Promise<void> {
    this.#closed = true
    const left = await this.#running.end(STOP_GRACE_MS)
    for (const each of left) each.run.abort(new LeaseLostError('shutting down'))
    await this.#release([...left, ...this.#waiting.splice(0)])
    await this.#inFlight.settle()
    if (this.#sweep !== null) clearInterval(this.#sweep)
    this.#sweep = null
  }

  #start(due: Omit<Due, 'run'>): void {
    const { claim } = due
    const { timeoutMs = 0, concurrency } = this.#options.agents.get(claim.agent_id) ?? {}
    const limited = concurrency !== undefined
    const claimedMs = performance.now()
    const running: Running = {
      ...{ ...due, claimedMs, enteredMs: null, last: false },
      inFlight: claim.inFlight ?? null,
      run: new Run(claimedMs + timeoutMs),
      span: turnSpan(this.#tracer, claim),
      live: claim.type === 'user_message' ? new LiveTurn(claim, this.#options.hints) : null,
    }
    this.#sweep ??= setInterval(() => {
      abortLate(this.#running.runs(), this.#options.agents)
      this.#inFlight.sweep(this.#running.runs())
      const nowMs = performance.now()
      for (const { live } of this.#running.runs()) live?.sweep(nowMs)
    }, DEADLINE_SWEEP_MS).unref()
    this.#places.begin(claim, limited)
    this.#running.start(claim.session_key, running, this.#take(running), () => {
      this.#places.end(claim, limited)
      // This session may have more, or others wait for the place: worth a look, in this process alone.
      if (!running.last || this.#places.wanted) this.#options.hints.local('turns')
    })
  }

  /** Load, run, commit, signal. */
  async #take(running: Running): Promise<void> {
    let finished: Finished | null = null
    let committed: Committed | null = null
    const { moments } = this.#options
    const { session_key } = running.claim
    try {
      const claimed = moments.reach('claimed', session_key)
      if (claimed !== undefined) await claimed
      finished = await this.#run(running)
      // Before what is said of a failure.
      if (finished?.failure !== null) running.live?.retract()
      if (finished === null) return
      const delivered = moments.reach('delivered', session_key)
      if (delivered !== undefined) await delivered
      committed = await this.#commit(finished, running)
      if (committed === null) return
      running.last = this.#isLast(running.claim, committed)
      const told = moments.reach('committed', session_key)
      if (told !== undefined) await told
      reportTurn(finished, committed, running, this.#options)
    } finally {
      running.live?.end(committed?.status === 'committed')
      this.#inFlight.end(running)
      this.#options.budgets.done(running.claim)
      endTurn(this.#tracer, running.span, finished, committed)
    }
  }

  /** A trigger that settles slots may have made another session due. */
  #isLast({ type }: ClaimedTurn, { status, behind }: Committed): boolean {
    return (
      status === 'committed' && !behind && this.#options.triggers.get(type)?.settle === undefined
    )
  }

  /** Null: there is nothing to commit. */
  async #run(running: Running): Promise<Finished | null> {
    const ending = await this.#ending(running)
    if (ending === HELD) return null
    const { claim, token, span, slots, inFlight } = running
    const { traceparent } = span
    return {
      claim,
      token,
      traceparent,
      inFlight,
      ...(slots === undefined ? {} : { slots }),
      ...ending,
    }
  }

  async #ending(running: Running): Promise<Ending> {
    for (const gate of this.#gates) {
      const ending = await gate(running)
      if (ending !== null) return ending
    }
    return this.#enter(running)
  }

  async #enter(running: Running): Promise<Ending> {
    const { claim, run, span, live } = running
    const { agents, budgets, stops, meter } = this.#options
    const settle = budgets.reserve(claim)
    const agent = agents.get(claim.agent_id)
    try {
      if (agent === undefined) throw new Error(`there is no agent ${claim.agent_id} any more`)
      running.enteredMs = performance.now()
      live?.begin(running.enteredMs)
      const input = inputOf(claim, run, this.#options, live)
      const result = await span.run(() => run.start(() => agent.run(input)))
      settle(result.spent, false)
      if (stops.turn(claim, running.slots) !== 'run') throw new StoppedError()
      return { result, failure: null }
    } catch (error) {
      settle(undefined, true)
      if (error instanceof StoppedError) return (await this.#stopping.of(running, 'hold')) ?? HELD
      if (error instanceof InterruptedError) await this.#release([running])
      else if (error instanceof LeaseLostError) meter.leasesLost(1)
      else return failed(await this.#failure(running, error))
      return HELD
    }
  }

  #failure({ claim }: Running, error: unknown): Promise<Failure> {
    const agent = this.#options.agents.get(claim.agent_id)
    return answeredFailure(claim, error, agent, this.#options)
  }

  #commit(finished: Finished, running: Running): Promise<Committed | null> {
    return retryWhileUnavailable(() => this.#commits.submit(finished), {
      trouble: (error) => this.#options.meter.trouble('commit', error),
      over: () => running.run.aborted,
      // What the agent asked for cannot be written: that is a failed turn, recorded as such.
      refused: async (error) =>
        finished.failure === null
          ? this.#commit(
              { ...finished, result: null, failure: await this.#failure(running, error) },
              running,
            )
          : null,
    })
  }
}

const leaseOf = ({ claim, token }: Pick<Running, 'claim' | 'token'>) => ({
  bucket: claim.bucket,
  key: claim.session_key,
  token,
})
