/**
 * A clock: everything of one trigger that is due becomes an event. One short transaction for a whole batch, nothing
 * outside the database. Each trigger has a clock of its own: what is due of one need not wait until the others were looked at.
 */
import { performance } from 'node:perf_hooks'
import { CLOCK_STEP_MS } from '../../packages/schedule/src/count.ts'
import { type Tracer, UNTRACED } from '../core/trace/trace.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import { pullBack, stampedAheadMs } from '../store/ahead.ts'
import type { Db } from '../store/db.ts'
import type { Hints } from './hints.ts'
import type { Meter } from './meter.ts'
import { IDLE, type Service, type Tick } from './service.ts'
import { batchSpan, fireSpans } from './spans.ts'
import { type CapacityGrant, type Promotion, soonest, type Trigger } from './trigger.ts'

export interface ClockOptions {
  readonly db: Db
  readonly trigger: Trigger
  readonly hints: Hints
  readonly meter: Meter
  readonly tracer?: Tracer
  /** Who runs turns in this process, if anybody: what can run at once is leased with its promotion. */
  readonly turns?: Runner
  /** AUTONOMY_ENABLED: false promotes nothing, conversations still work. */
  readonly enabled: boolean
  /** Everything is stopped. */
  readonly stopped?: () => boolean
}

/** Lends places for turns, and runs what was leased for them. */
export interface Runner {
  /** Null: nothing is to be leased now. `patient`: waits a little for places. */
  lend(patient: boolean): Promise<CapacityGrant | null>
  /** What came of it, be it nothing. */
  take(lent: CapacityGrant, turns: readonly ClaimedTurn[]): Promise<void>
}

export function clockService(options: ClockOptions): Service {
  const { trigger, hints, meter, tracer = UNTRACED } = options
  /** It had more due than one batch holds when last looked at. */
  let busy = false
  /** How many times in a row no place was free for the turns of what is due. */
  let refused = 0
  return {
    name: 'clock',
    tables: [trigger.table],
    async tick(): Promise<Tick> {
      if (!options.enabled || options.stopped?.()) return IDLE
      const startedMs = performance.now()
      const promotion = await take(options, busy, refused < REFUSED_MAX)
      refused = promotion === NO_ROOM ? refused + 1 : 0
      const { promoted, more, nextMs, rows, turns = [] } = promotion
      busy = more
      if (promoted > turns.length) hints.hint('turns')
      if (promoted > 0) {
        const latenessMs = rows.map((row) => row.latenessMs)
        const again = rows.filter((row) => row.again).length
        meter.promoted(trigger.type, promoted, latenessMs, again)
        fireSpans(tracer, trigger.type, startedMs, rows)
        batchSpan(tracer, `promote ${trigger.type}`, startedMs, promoted)
      }
      return { did: promoted, more, nextMs, leased: turns.length }
    },
  }
}

/** What is due waits where it is rather than behind the sessions that wait for a place. */
const NO_ROOM: Promotion = { promoted: 0, more: true, nextMs: null, rows: [] }
/** As many refusals take about a second; then it waits behind them. */
const REFUSED_MAX = 4

async function take(
  { db, trigger, turns: runner }: ClockOptions,
  busy: boolean,
  waits: boolean,
): Promise<Promotion> {
  const lent = runner === undefined ? null : await lend(runner, trigger, busy)
  if (lent === null && runner !== undefined && busy && waits && trigger.leases === 'together')
    return NO_ROOM
  if (runner === undefined || lent === null) return promote(db, trigger, busy)
  let turns: readonly ClaimedTurn[] = []
  try {
    const promotion = await trigger.promote(db, busy, lent)
    turns = promotion.turns ?? []
    return promotion
  } finally {
    await runner.take(lent, turns)
  }
}

/** Nothing where batches are promoted side by side. */
async function lend(
  runner: Runner,
  { leases, lanes }: Trigger,
  busy: boolean,
): Promise<CapacityGrant | null> {
  if (leases === undefined || (busy && lanes !== undefined)) return null
  return runner.lend(busy && leases === 'together')
}

/** Batches side by side where much is due, and the order of its batches does not matter to the trigger. */
async function promote(db: Db, trigger: Trigger, busy: boolean): Promise<Promotion> {
  const lanes = busy && db.kind === 'postgres' ? (trigger.lanes ?? 1) : 1
  if (lanes === 1) return trigger.promote(db, busy)
  const ended = await Promise.allSettled(
    Array.from({ length: lanes }, () => trigger.promote(db, busy)),
  )
  const promotions = ended.map((lane) => {
    if (lane.status === 'rejected') throw lane.reason
    return lane.value
  })
  const rows = promotions.flatMap((each) => each.rows)
  return {
    promoted: promotions.reduce((sum, each) => sum + each.promoted, 0),
    more: promotions.some((each) => each.more),
    nextMs: soonest(promotions.map(({ nextMs }) => nextMs)),
    rows,
  }
}

export function aheadService(options: {
  /** Its statements may read whole tables, so they take as long as they take. */
  readonly db: Db
  readonly leaseMs: number
  /** Hears what happened, in words. */
  readonly onPulled: (text: string) => void
}): Service {
  const { db, onPulled } = options
  // A third of a lease until this looks and half of one until it ends: free within a whole one. A heartbeat comes every third.
  const leaseMs = Math.ceil(options.leaseMs / 2)
  let latestMs: number | null = null
  /** Up to which stamp rows were pulled back; those stamps stay ahead until the clock has reached them. */
  let doneMs = Number.NEGATIVE_INFINITY
  return {
    name: 'ahead',
    async tick(): Promise<Tick> {
      const nowMs = await db.time()
      const steppedMs = Math.max(0, (latestMs ?? nowMs) - nowMs)
      // A clock that is moved by hand says so itself; else rows are asked, which other processes may have written.
      const looks = latestMs === null || steppedMs > CLOCK_STEP_MS || db.now() === null
      latestMs = nowMs
      const stampedMs = looks ? await stampedAheadMs(db) : 0
      const aheadMs = Math.max(steppedMs, stampedMs)
      const isNew = steppedMs > CLOCK_STEP_MS || nowMs + stampedMs > doneMs + CLOCK_STEP_MS
      if (aheadMs <= CLOCK_STEP_MS || !isNew) return { did: 0, more: false, nextMs: null }
      const did = await pullBack(db, { leaseMs, aheadMs })
      doneMs = nowMs + aheadMs
      onPulled(
        `the clock of the database was ahead and was set back by ${Math.round(aheadMs / 1000)} s: ${did} leases and due times were pulled back`,
      )
      return { did, more: false, nextMs: null }
    },
  }
}
