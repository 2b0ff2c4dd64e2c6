/** Writes that share a commit with others that are ready together: events, alarms, signals. */

import { Refusal } from '../core/errors.ts'
import { type Tracer, UNTRACED } from '../core/trace/trace.ts'
import type { AlarmDraft } from '../features/alarms/draft.ts'
import { type AlarmSet, setAlarms } from '../features/alarms/trigger.ts'
import type { NewSignal } from '../features/intents/signal.ts'
import { type SignalTaken, takeSignals } from '../features/intents/signal-trigger.ts'
import { type Appended, appendEvents, type NewEvent } from '../features/sessions/event-rows.ts'
import type { Policy } from '../features/sessions/turn.ts'
import type { Hints } from '../kernel/hints.ts'
import type { Meter } from '../kernel/meter.ts'
import { fireSpans } from '../kernel/spans.ts'
import type { Db } from '../store/db.ts'
import { GroupCommit } from '../store/group.ts'
import type { Store } from '../store/open.ts'
import type { PerShard } from '../store/shards/ranges.ts'

const BATCH_MAX = 500
const QUEUE_MAX = 20_000
/** An agent that is so far behind needs a while. */
const BACKLOG_RETRY_MS = 5_000

export interface SharedCommitsOptions {
  readonly store: Store
  readonly policy: Policy
  readonly meter: Meter
  readonly hints: Hints
  readonly tracer?: Tracer
}

export class WriteBatcher {
  readonly #options: SharedCommitsOptions
  readonly #appends: GroupCommit<NewEvent, Appended | null>
  readonly #alarms: GroupCommit<AlarmDraft, AlarmSet | Refusal>
  readonly #signals: GroupCommit<NewSignal, SignalTaken>

  constructor(options: SharedCommitsOptions) {
    this.#options = options
    const { store, meter } = options
    const bounds = { batchMax: BATCH_MAX, queueMax: QUEUE_MAX, onFull: tooManyWait }
    const lanes = store.kind === 'postgres' ? 2 : 1
    this.#appends = new GroupCommit({
      ...bounds,
      lanes,
      commit: (events) => this.#append(events),
      onBatch: (size) => meter.batch('append', size),
    })
    this.#alarms = new GroupCommit({
      ...bounds,
      lanes,
      commit: (drafts) => setAlarms(store.commits, drafts, options.policy.maxFailures),
      onBatch: (size) => meter.batch('alarms', size),
    })
    // One lane: prices that follow one another are looked at in the order they came.
    this.#signals = new GroupCommit({
      ...bounds,
      lanes: 1,
      commit: (signals) => takeSignals(store.commits, signals, options.policy),
    })
  }

  /** Within `tx` where one is given. */
  async append(event: NewEvent, tx: Db | null = null): Promise<Appended> {
    const { policy } = this.#options
    const [row] =
      tx === null
        ? [await this.#appends.submit(event)]
        : await appendEvents(tx, [event], policy.backlogMax)
    if (!row) throw tooManyEvents(event, policy)
    return row
  }

  async #append(events: readonly NewEvent[]): Promise<(Appended | null)[]> {
    const { store, hints, policy } = this.#options
    const rows = await appendEvents(store.commits, events, policy.backlogMax)
    hints.hint('turns')
    hints.hint('outbox', [...new Set(events.map((event) => event.session.key))])
    return rows
  }

  /** Within `tx` where one is given. */
  async setAlarm(draft: AlarmDraft, tx: Db | null): Promise<AlarmSet> {
    const { maxFailures } = this.#options.policy
    const [set] =
      tx === null ? [await this.#alarms.submit(draft)] : await setAlarms(tx, [draft], maxFailures)
    if (set === undefined) throw new Error('the alarm was not set')
    if (set instanceof Refusal) throw set
    return set
  }

  /** Keeps facts and fires what they make true. Within `tx` the caller wakes the turns after its commit. */
  async takeSignals(signals: readonly NewSignal[], tx: Db | null = null): Promise<SignalTaken[]> {
    const { policy, hints, meter, tracer = UNTRACED } = this.#options
    const startedMs = performance.now()
    const taken =
      tx === null
        ? await Promise.all(signals.map((signal) => this.#signals.submit(signal)))
        : await takeSignals(tx, signals, policy)
    const rows = taken.flatMap((each) => each.rows)
    if (rows.length > 0) {
      if (tx === null) hints.hint('turns')
      meter.promoted(
        'intent',
        rows.length,
        rows.map((row) => row.latenessMs),
      )
      fireSpans(tracer, 'intent', startedMs, rows)
    }
    return taken
  }

  /** Resolves when nothing waits for a commit any more. */
  async idle(): Promise<void> {
    await Promise.all([this.#appends.idle(), this.#alarms.idle(), this.#signals.idle()])
  }
}

/** The same in several shards: an event goes to its person's, a fact for everybody to each. */
export class WriteBatchers {
  readonly shards: PerShard<WriteBatcher>

  constructor(shards: PerShard<WriteBatcher>) {
    this.shards = shards
  }

  append(event: NewEvent): Promise<Appended> {
    return this.shards.ofBucket(event.session.bucket).append(event)
  }

  /**
   * Within `tx`, which is of the shard `own`, where one is given. The others come first: what `tx` then does not commit is told
   * again, and a fact told twice is one.
   */
  async takeSignals(
    signals: readonly NewSignal[],
    tx: Db | null = null,
    own: WriteBatcher = this.shards.home,
  ): Promise<SignalTaken[]> {
    const { all, several } = this.shards
    if (!several) return own.takeSignals(signals, tx)
    const others = all.filter((each) => each !== own)
    const told = await Promise.allSettled(others.map((each) => this.#tell(each, signals, null)))
    for (const each of told) if (each.status === 'rejected') throw each.reason
    const parts = told.map((each) => (each.status === 'fulfilled' ? each.value : new Map()))
    parts.push(await this.#tell(own, signals, tx, 'recorded'))
    return signals.map((signal) => joined(parts.flatMap((part) => part.get(signal) ?? [])))
  }

  /** Those that concern this shard. Who told a fact for everybody is recorded once. */
  async #tell(
    to: WriteBatcher,
    signals: readonly NewSignal[],
    tx: Db | null,
    recorded?: 'recorded',
  ) {
    const concern = signals.filter(
      ({ userId }) => userId === null || this.shards.ofUser(userId) === to,
    )
    const told = concern.map((signal) =>
      recorded || signal.userId !== null ? signal : { ...signal, audit: null },
    )
    const taken = told.length === 0 ? [] : await to.takeSignals(told, tx)
    return new Map(concern.map((signal, index) => [signal, taken[index] as SignalTaken]))
  }

  async idle(): Promise<void> {
    await Promise.all(this.shards.all.map((each) => each.idle()))
  }
}

/** One fact in several shards: news where it was news to any. */
function joined(taken: readonly SignalTaken[]): SignalTaken {
  const last = taken.at(-1)
  if (last === undefined) throw new Error('the signal was not taken')
  const rows = taken.flatMap((each) => each.rows)
  return { id: last.id, stored: taken.some((each) => each.stored), promoted: rows.length, rows }
}

function tooManyEvents({ session }: NewEvent, { backlogMax }: Policy): Refusal {
  const text = `${backlogMax} events of the session ${session.key} wait for its agent; try again when it has caught up`
  return new Refusal('rate_limited', text, { retryAfterMs: BACKLOG_RETRY_MS })
}

function tooManyWait(): Refusal {
  const text = 'too many requests wait for the database; try again soon'
  return new Refusal('unavailable', text, { retryAfterMs: 1000 })
}
