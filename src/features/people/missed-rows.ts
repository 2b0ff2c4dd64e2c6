/** Slots that were given up because their time had passed: they became no event. */
import type { Db } from '../../store/db.ts'
import { NOW } from '../../store/due.ts'
import { rows, statement } from '../../store/statement.ts'

export interface MissedSlots {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  readonly agent_id: string | null
  readonly kind: 'alarm' | 'intent' | 'work'
  readonly trigger_id: string
  readonly name: string
  /** The first of them. */
  readonly scheduled_for: Date
  readonly last_for: Date
  readonly slots: number
  /** Why: `catch_up` by default. */
  readonly rule?: 'catch_up' | 'paused'
}

const RECORD = statement(
  {
    i: rows({
      bucket: 'smallint',
      id: 'uuid',
      user_id: 'text',
      agent_id: 'text?',
      kind: 'text',
      trigger_id: 'uuid',
      name: 'text',
      scheduled_for: 'timestamptz',
      last_for: 'timestamptz',
      slots: 'int',
      rule: 'text',
    }),
  },
  ({
    i,
  }) => `insert into wakeful.missed (bucket, id, user_id, agent_id, kind, trigger_id, name, scheduled_for, last_for, slots, rule, missed_at)
    select bucket, id, user_id, agent_id, kind, trigger_id, name, scheduled_for, last_for, slots, rule, ${NOW} from ${i}`,
)

export async function recordMissed(tx: Db, missed: readonly MissedSlots[]): Promise<void> {
  const i = missed.map((slots) => ({ rule: 'catch_up', ...slots }))
  if (i.length > 0) await RECORD.run(tx, { i })
}
