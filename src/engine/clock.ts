/** The clock: everything due becomes an event. One short transaction for a whole batch, nothing outside the database. */
import type { Db } from '../store/db.ts'
import type { Trigger } from '../triggers/trigger.ts'
import type { Hints } from './hints.ts'
import type { Meter } from './meter.ts'
import { IDLE, type Service, type Tick } from './service.ts'

export interface ClockOptions {
  readonly db: Db
  readonly triggers: readonly Trigger[]
  readonly hints: Hints
  readonly meter: Meter
  /** AUTONOMY_ENABLED: false promotes nothing, conversations still work. */
  readonly enabled: boolean
}

export function clockService(options: ClockOptions): Service {
  const { db, triggers, hints, meter } = options
  return {
    name: 'clock',
    async tick(): Promise<Tick> {
      if (!options.enabled) return IDLE
      let did = 0
      let more = false
      let nextMs: number | null = null
      for (const trigger of triggers) {
        const promotion = await trigger.promote(db)
        did += promotion.promoted
        more ||= promotion.more
        if (promotion.nextMs !== null)
          nextMs = Math.min(nextMs ?? promotion.nextMs, promotion.nextMs)
        if (promotion.promoted === 0) continue
        // At once, not after the other triggers: somebody waits for these.
        hints.hint('turns')
        meter.promoted(trigger.type, promotion.promoted, promotion.latenessMs)
      }
      return { did, more, nextMs }
    },
  }
}
