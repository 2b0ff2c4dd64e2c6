/**
 * What has happened to a person since a cursor, read from the rows that the engine writes anyway: events of slots along their
 * index, wakes that were delivered by a call, and, of the sessions that have moved since, their last messages and
 * outputs. Nothing is written for it, and nobody who subscribes to nothing pays for it.
 */

import type { Db } from '../../../src/store/db.ts'
import { commitTx } from '../../../src/store/due.ts'
import { type Names, rowsOf, statement } from '../../../src/store/statement.ts'
import type { Cursor } from './cursor.ts'
import type { EventName, Filter } from './event-types.ts'
import type { Occurrence } from './sent-event.ts'

/** One look: whose, what, and from where on. */
export interface LookFor extends Filter {
  readonly bucket: number
  readonly userId: string
  readonly name: EventName
  readonly cursor: Cursor
  /** The agent whose rows alone the subscriber may see; null: all of the person's. */
  readonly onlyOf: string | null
}

interface Placed extends LookFor {
  readonly place: number
}

/** Of one session so many of the newest are read; what a session said beyond that within one look is told as a gap. */
const TAIL = 200
const CONTENT_MAX = 64 * 1024

const LOOKS = {
  k: rowsOf<Placed>({
    place: ['int', (look) => look.place],
    bucket: ['smallint', (look) => look.bucket],
    user_id: ['text', (look) => look.userId],
    name: ['text', (look) => look.name],
    since: ['timestamptz', (look) => new Date(look.cursor.fromMs)],
    told: ['text', (look) => look.cursor.told.map(([id]) => id).join(',')],
    agent_id: ['text?', (look) => look.agentId],
    trigger_id: ['uuid?', (look) => look.triggerId],
    thread_id: ['text?', (look) => look.threadId],
    word: ['text?', (look) => look.word],
    only_of: ['text?', (look) => look.onlyOf],
  }),
  limit: 'int',
} as const
type Looks = Names<typeof LOOKS>

const notTold = (id: string) => `not (${id} = any(string_to_array(k.told, ',')::uuid[]))`
const asked = (column: string, value: string) => `(${column} is null or ${value} = ${column})`

/** Retries of an alarm's slot are events of their own; the first one tells of it. */
const FIRST = `coalesce(e.payload ->> 'attempt', '1') = '1'`
const SLOT_IS = `(
  k.name = 'alarm.due' and e.type = 'alarm' and ${FIRST} and ${asked('k.word', `e.payload ->> 'label'`)}
  or k.name = 'intent.met' and e.type = 'intent' and ${asked('k.word', `e.payload ->> 'trigger_type'`)}
  or k.name = 'slot.missed' and (e.payload ->> 'missed_count')::int > 0 and ${FIRST} and ${asked('k.word', 'e.type')})`

const SLOTS = statement(
  LOOKS,
  ({
    k,
    limit,
  }: Looks) => `select k.place, e.id, e.created_at as at, e.type as kind, e.session_key, e.trigger_id,
      e.scheduled_for, e.payload
    from ${k} cross join lateral (
      select * from wakeful.events e
      where e.scheduled_for is not null and e.bucket = k.bucket and split_part(e.session_key, ':', 1) = k.user_id
        and e.created_at >= k.since and ${asked('k.agent_id', `split_part(e.session_key, ':', 2)`)}
        and ${asked('k.trigger_id', 'e.trigger_id')} and ${SLOT_IS} and ${notTold('e.id')}
      order by e.created_at, e.id limit ${limit}) e
    order by k.place, e.created_at, e.id`,
)

/** Alarms that wake by a call have no event. */
const WAKES = statement(
  LOOKS,
  ({
    k,
    limit,
  }: Looks) => `select k.place, w.delivery_id as id, w.created_at as at, 'alarm' as kind, w.user_id || '::' as session_key,
      w.alarm_id as trigger_id, w.scheduled_for, json_build_object('alarm_id', w.alarm_id, 'label', a.label, 'wake_message', a.wake_message,
        'missed_count', w.missed_count, 'payload', a.payload) as payload
    from ${k} cross join lateral (
      select * from wakeful.alarm_wakes w
      where w.bucket = k.bucket and w.user_id = k.user_id and w.created_at >= k.since and k.agent_id is null
        and (k.name = 'alarm.due' or w.missed_count > 0) and ${asked('k.trigger_id', 'w.alarm_id')} and ${notTold('w.delivery_id')}
      order by w.created_at, w.delivery_id limit ${limit}) w
    cross join lateral (
      select a.label, a.wake_message, a.payload from wakeful.alarms a
      where a.bucket = w.bucket and a.id = w.alarm_id and (k.name <> 'alarm.due' or ${asked('k.word', 'a.label')}) offset 0) a
    order by k.place, w.created_at, w.delivery_id`,
)

/** What was not caught up with has no event, either. */
const MISSED = statement(
  LOOKS,
  ({
    k,
    limit,
  }: Looks) => `select k.place, m.id, m.missed_at as at, m.kind, m.user_id || '::' as session_key, m.trigger_id, m.scheduled_for,
      json_build_object('label', m.name, 'missed_count', m.slots) as payload
    from ${k} cross join lateral (
      select * from wakeful.missed m
      where m.bucket = k.bucket and m.user_id = k.user_id and m.missed_at >= k.since and ${asked('k.agent_id', 'm.agent_id')}
        and ${asked('k.trigger_id', 'm.trigger_id')} and ${asked('k.word', 'm.kind')} and ${notTold('m.id')}
      order by m.missed_at, m.id limit ${limit}) m
    order by k.place, m.missed_at, m.id`,
)

/** Sessions of one person are one range of the primary key: ';' is the character after ':'. */
const MOVED = `select s.bucket, s.session_key from wakeful.sessions s
  where s.bucket = k.bucket and s.session_key >= k.user_id || ':' and s.session_key < k.user_id || ';' and s.updated_at >= k.since
    and ${asked('k.agent_id', 's.agent_id')} and ${asked('k.thread_id', 's.thread_id')}`

const MESSAGES = statement(
  LOOKS,
  ({
    k,
    limit,
  }: Looks) => `select m.place, m.id, m.at, 'message' as kind, m.session_key, null::uuid as trigger_id, m.at as scheduled_for,
      m.payload, m.reason, m.event_seq, m.tail
    from ${k} cross join lateral (
      select k.place, f.id, f.created_at as at, f.session_key, f.payload, f.reason, f.event_seq, f.tail
      from (${MOVED} offset 0) s cross join lateral (
        select f.*, row_number() over (order by f.position desc) as tail from (
          select * from wakeful.effects f where f.bucket = s.bucket and f.session_key = s.session_key
          order by f.position desc limit ${TAIL}) f) f
      where f.created_at >= k.since and f.type = 'send_message' and ${asked('k.word', 'f.reason')} and ${notTold('f.id')}
      order by f.created_at, f.id limit ${limit}) m
    order by m.place, m.at, m.id`,
)

const OUTPUTS = statement(
  LOOKS,
  ({ k, limit }: Looks) => `select m.* from ${k} cross join lateral (
      select k.place, o.id, o.completed_at as at, 'work' as kind, s.session_key, o.work_id as trigger_id, o.scheduled_for, '{}' as payload,
        o.run_number, o.status, o.title, left(o.content, ${CONTENT_MAX}) as content, o.error_message, o.file_url, o.missed_count
      from (${MOVED} offset 0) s cross join lateral (
        select e.bucket, e.id from wakeful.events e
        where e.bucket = s.bucket and e.session_key = s.session_key and e.type = 'work' and e.scheduled_for is not null
        order by e.seq desc limit ${TAIL}) e
      cross join lateral (
        select * from wakeful.work_outputs o where o.bucket = e.bucket and o.event_id = e.id offset 0) o
      where o.completed_at >= k.since and ${asked('k.only_of', 'o.agent_id')} and ${asked('k.trigger_id', 'o.work_id')} and ${asked('k.word', 'o.status')} and ${notTold('o.id')}
      order by o.completed_at, o.id limit ${limit}) m
    order by m.place, m.at, m.id`,
)

const READERS: Readonly<Record<EventName, readonly (typeof SLOTS)[]>> = {
  'alarm.due': [SLOTS, WAKES],
  'intent.met': [SLOTS],
  'slot.missed': [SLOTS, WAKES, MISSED],
  'message.for_person': [MESSAGES],
  'work.finished': [OUTPUTS],
}

export interface Found {
  /** Oldest first. */
  readonly found: readonly Occurrence[]
  /** There is more behind them. */
  readonly more: boolean
  /** A session said more than is read of it: some of it is lost to this reader. */
  readonly gap: boolean
}

/** For each look what happened since, up to `limit` of it. */
export async function lookUp(db: Db, looks: readonly LookFor[], limit: number): Promise<Found[]> {
  const placed = looks.map((look, place) => ({ ...look, place }))
  const found: Occurrence[][] = looks.map(() => [])
  await commitTx(db, async (tx) => {
    for (const reader of new Set(Object.values(READERS).flat())) {
      const k = placed.filter(({ name }) => READERS[name].includes(reader))
      if (k.length === 0) continue
      const rows = await reader.run<Occurrence & { place: number }>(tx, { k, limit: limit + 1 })
      for (const row of rows) found[row.place]?.push(row)
    }
  })
  return found.map((rows) => {
    const sorted = rows.sort((a, b) => a.at.getTime() - b.at.getTime())
    const gap = rows.some(({ tail }) => tail === TAIL)
    return { found: sorted.slice(0, limit), more: rows.length > limit, gap }
  })
}
