/** Reads why a turn runs: the trigger behind its event, and the message that this goes back to. */
import { EVENT_TYPES, type EventType, type SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { statement } from '../../store/statement.ts'

export interface CauseRow {
  readonly scheduled_for: Date | null
  readonly lineage: string | null
  /** When the trigger was set; null for a timer, whose row is gone, and for a trigger that was deleted. */
  readonly set_at: Date | null
  /** Payload of the user's message in which it was set, as JSON text; null where that is too long ago or elsewhere. */
  readonly message: string | null
}

/** How many events back the message is looked for. */
const LOOKED_BACK = 500

const SET_AT: Partial<Record<EventType, string>> = {
  alarm: 'wakeful.alarms',
  intent: 'wakeful.scheduled_intents',
  work: 'wakeful.work',
}

const causeOf = (type: EventType) => {
  const table = SET_AT[type]
  const setAt =
    table === undefined
      ? 'null::timestamptz'
      : `(select t.created_at from ${table} t where t.bucket = e.bucket and t.id = e.trigger_id)`
  return statement(
    { bucket: 'smallint', key: 'text', seq: 'int' },
    ({
      bucket,
      key,
      seq,
    }) => `select e.scheduled_for, e.lineage, ${setAt} as set_at, (select m.payload::text from
        (select id, payload from wakeful.events where bucket = ${bucket} and session_key = ${key} and seq < ${seq}
          order by seq desc limit ${LOOKED_BACK}) m
        where m.id::text = split_part(e.lineage, '.', 4)) as message
      from wakeful.events e where e.bucket = ${bucket} and e.session_key = ${key} and e.seq = ${seq}`,
  )
}

const CAUSES = Object.fromEntries(EVENT_TYPES.map((type) => [type, causeOf(type)])) as Record<
  EventType,
  ReturnType<typeof causeOf>
>

export async function readCause(
  db: Db,
  { bucket, key }: SessionRef,
  { type, seq }: { readonly type: EventType; readonly seq: number },
): Promise<CauseRow | null> {
  const [row] = await CAUSES[type].run<CauseRow>(db, { bucket, key, seq })
  return row ?? null
}
