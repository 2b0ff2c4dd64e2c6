/** The clock: everything due becomes an event. One short transaction for a whole batch, nothing outside the database. */
import { performance } from 'node:perf_hooks'
import { type Tracer, UNTRACED } from '../core/trace.ts'
import type { Db } from '../store/db.ts'
import type { Promotion, Trigger } from '../triggers/trigger.ts'
import type { Hints } from './hints.ts'
import type { Meter } from './meter.ts'
import { IDLE, type Service, type Tick } from './service.ts'
import { batchSpan, fireSpans } from './spans.ts'

export interface ClockOptions {
  readonly db: Db
  readonly triggers: readonly Trigger[]
  readonly hints: Hints
  readonly meter: Meter
  readonly tracer?: Tracer
  /** AUTONOMY_ENABLED: false promotes nothing, conversations still work. */
  readonly enabled: boolean
}

export function clockService(options: ClockOptions): Service {
  const { db, triggers, hints, meter, tracer = UNTRACED } = options
  /** Those that had more due than one batch holds when last looked at. */
  const busy = new Set<Trigger>()
  return {
    name: 'clock',
    async tick(): Promise<Tick> {
      if (!options.enabled) return IDLE
      let did = 0
      let more = false
      let nextMs: number | null = null
      for (const trigger of triggers) {
        const startedMs = performance.now()
        const promotion = await promote(db, trigger, busy.has(trigger))
        if (promotion.more) busy.add(trigger)
        else busy.delete(trigger)
        did += promotion.promoted
        more ||= promotion.more
        if (promotion.nextMs !== null)
          nextMs = Math.min(nextMs ?? promotion.nextMs, promotion.nextMs)
        if (promotion.promoted === 0) continue
        // At once, not after the other triggers: somebody waits for these.
        hints.hint('turns')
        const { rows } = promotion
        const latenessMs = rows?.map((row) => row.latenessMs) ?? promotion.latenessMs
        const again = rows?.filter((row) => row.again).length ?? 0
        meter.promoted(trigger.type, promotion.promoted, latenessMs, again)
        fireSpans(tracer, trigger.type, startedMs, rows ?? [])
        batchSpan(tracer, `promote ${trigger.type}`, startedMs, promotion.promoted)
      }
      return { did, more, nextMs }
    },
  }
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
  const soon = promotions.flatMap(({ nextMs }) => (nextMs === null ? [] : [nextMs]))
  const rows = promotions.flatMap((each) => each.rows ?? [])
  return {
    promoted: promotions.reduce((sum, each) => sum + each.promoted, 0),
    more: promotions.some((each) => each.more),
    nextMs: soon.length === 0 ? null : Math.min(...soon),
    latenessMs: Math.max(...promotions.map((each) => each.latenessMs)),
    ...(promotions.every((each) => each.rows !== undefined) && { rows }),
  }
}
