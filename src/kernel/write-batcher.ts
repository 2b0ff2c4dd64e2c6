/** Writes of one shard that share a commit with others that are ready: events, alarms, signals. */
import { Refusal } from '../core/errors.ts'
import { type Tracer, UNTRACED } from '../core/trace/trace.ts'
import type { AlarmDraft } from '../features/alarms/draft.ts'
import { type AlarmSet, setAlarms } from '../features/alarms/trigger.ts'
import type { NewSignal } from '../features/intents/signal.ts'
import { type SignalTaken, takeSignals } from '../features/intents/signal-trigger.ts'
import { type Appended, appendEvents, type NewEvent } from '../features/sessions/event-rows.ts'
import type { Policy } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import { GroupCommit } from '../store/group.ts'
import type { Store } from '../store/open.ts'
import type { Hints } from './hints.ts'
import type { Meter } from './meter.ts'
import { fireSpans } from './spans.ts'

const BATCH_MAX = 500
const QUEUE_MAX = 20_000
/** An agent with a full backlog needs a while. */
const BACKLOG_RETRY_MS = 5_000

export interface WriteBatcherOptions {
  readonly store: Store
  readonly policy: Policy
  readonly meter: Meter
  readonly hints: Hints
  readonly tracer?: Tracer
}

export class WriteBatcher {
  readonly #options: WriteBatcherOptions
  readonly #appends: GroupCommit<NewEvent, Appended | null>
  readonly #alarms: GroupCommit<AlarmDraft, AlarmSet | Refusal>
  readonly #signals: GroupCommit<NewSignal, SignalTaken>

  constructor(options: WriteBatcherOptions) {
    this.#options = options
    const { store, meter, policy, hints } = options
    const bounds = { batchMax: BATCH_MAX, queueMax: QUEUE_MAX, onFull: queueFull }
    const lanes = store.kind === 'postgres' ? 2 : 1
    this.#appends = new GroupCommit({
      ...bounds,
      lanes,
      commit: async (events) => {
        const rows = await appendEvents(store.commits, events, policy.backlogMax)
        hints.hint('turns')
        hints.hint('outbox', [...new Set(events.map((event) => event.session.key))])
        return rows
      },
      onBatch: (size) => meter.batch('append', size),
    })
    this.#alarms = new GroupCommit({
      ...bounds,
      lanes,
      commit: (drafts) => setAlarms(store.commits, drafts, policy.maxFailures),
      onBatch: (size) => meter.batch('alarms', size),
    })
    // One lane keeps the order of signals: two prices of one ticker are evaluated as they came.
    this.#signals = new GroupCommit({
      ...bounds,
      lanes: 1,
      commit: (signals) => takeSignals(store.commits, signals, policy),
    })
  }

  /** Within `tx` if one is given; the caller then sends the hints after its commit. */
  async append(event: NewEvent, tx: Db | null = null): Promise<Appended> {
    const { backlogMax } = this.#options.policy
    const [row] =
      tx === null
        ? [await this.#appends.submit(event)]
        : await appendEvents(tx, [event], backlogMax)
    if (row) return row
    const text = `${backlogMax} events of the session ${event.session.key} wait for its agent; try again when it has caught up`
    throw new Refusal('rate_limited', text, { retryAfterMs: BACKLOG_RETRY_MS })
  }

  /** Within `tx` if one is given. */
  async setAlarm(draft: AlarmDraft, tx: Db | null): Promise<AlarmSet> {
    const { maxFailures } = this.#options.policy
    const [set] =
      tx === null ? [await this.#alarms.submit(draft)] : await setAlarms(tx, [draft], maxFailures)
    if (set === undefined) throw new Error('the alarm was not set')
    if (set instanceof Refusal) throw set
    return set
  }

  /** Stores signals and fires the intents they make true. Within `tx` the caller sends the hints after its commit. */
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

  /** Resolves when nothing waits for a commit. */
  async idle(): Promise<void> {
    await Promise.all([this.#appends.idle(), this.#alarms.idle(), this.#signals.idle()])
  }
}

function queueFull(): Refusal {
  const text = 'too many requests wait for the database; try again soon'
  return new Refusal('unavailable', text, { retryAfterMs: 1000 })
}
