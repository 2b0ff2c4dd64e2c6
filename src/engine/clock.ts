/** The clock: everything due becomes an event. One short transaction for a whole batch, nothing outside the database. */
import { performance } from 'node:perf_hooks'
import { type Tracer, UNTRACED } from '../core/trace.ts'
import type { Db } from '../store/db.ts'
import type { Trigger } from '../triggers/trigger.ts'
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
  return {
    name: 'clock',
    async tick(): Promise<Tick> {
      if (!options.enabled) return IDLE
      let did = 0
      let more = false
      let nextMs: number | null = null
      for (const trigger of triggers) {
        const startedMs = performance.now()
        const promotion = await trigger.promote(db)
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
