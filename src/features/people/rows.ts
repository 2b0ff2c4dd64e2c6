/** People: what they want of agents, and how much was said to them unasked today. */
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow, eqByKey, lockOrder, NOW } from '../../store/due.ts'
import { followPerson } from '../../store/follow.ts'
import { rows, statement } from '../../store/statement.ts'
import { changePreferences, type PreferenceWish } from './change.ts'
import { judgeDeferred } from './deferred.ts'
import { type DeferredRow, lockDeferred, type Moved, moveDeferred } from './deferred-rows.ts'
import { type PersonRow, preferencesOf, readPerson } from './fields.ts'
import { hasPreferences, type Preferences } from './preferences.ts'

/**
 * Throws a `Refusal`. `zone`: the server's own. Slots are locked before people: who releases them holds a slot and waits for a
 * session, whose commit waits for the person.
 */
export async function changePerson(
  tx: Db,
  userId: string,
  zone: string,
  wishOf: (row: PersonRow, now: Date) => PreferenceWish,
): Promise<{ readonly preferences: Preferences; readonly moved: readonly Moved[] }> {
  const slots = await lockDeferred(tx, userId)
  const row = await lockOnePerson(tx, userId)
  const now = await databaseNow(tx)
  const { timezone, preferences } = changePreferences(row, wishOf(row, now), zone, now)
  await writePreferences(tx, userId, timezone, preferences)
  if (preferences.timezone !== (row.timezone ?? zone))
    await followPerson(tx, { bucket: bucketOf(userId), userId }, preferences.timezone)
  const moved = slots.flatMap((slot) => movedBy(slot, judgeDeferred(slot, preferences, now), now))
  await moveDeferred(tx, moved)
  return { preferences, moved }
}

function movedBy(slot: DeferredRow, verdict: ReturnType<typeof judgeDeferred>, now: Date): Moved[] {
  const { bucket, id, rule, release_at } = slot
  if (rule === 'late') return []
  const next = verdict.move === 'defer' ? verdict : { rule, until: now }
  if (release_at?.getTime() === next.until.getTime()) return []
  return [{ bucket, id, status: 'waiting', rule: next.rule, release_at: next.until }]
}

/** The person of the row `of`, as JSON; null where nobody has said anything about them. */
export function personOf(of: string): string {
  return `(select row_to_json(p) from wakeful.people p
    where p.bucket = ${of}.bucket and p.user_id = ${of}.user_id::varchar collate "C" and (p.has_preferences or p.timezone is not null))`
}

/** Whether the person of the row `of` may have to be asked for before something is said to them. */
export function hasPreferencesOf(of: string): string {
  return `coalesce((select p.has_preferences from wakeful.people p
    where p.bucket = ${of}.bucket and p.user_id = ${of}.user_id::varchar collate "C"), false)`
}

const KEYS = rows({ bucket: 'smallint', user_id: 'text' })

const ADD = statement(
  { k: KEYS },
  ({ k }) => `insert into wakeful.people (bucket, user_id, created_at)
    select distinct bucket, user_id, ${NOW} from ${k} order by bucket, user_id on conflict do nothing`,
)

/** Ensures a row for each person, so that the directory lists them. Inserted in lock order. */
export async function addPeople(tx: Db, userIds: Iterable<string>): Promise<void> {
  const k = [...new Set(userIds)].map((user_id) => ({ bucket: bucketOf(user_id), user_id }))
  if (k.length > 0) await ADD.run(tx, { k })
}

const LOCK = statement(
  { k: KEYS },
  ({ k }) => `select row_to_json(p)::text as person from ${k}
    join wakeful.people p on ${eqByKey('p.bucket', 'k.bucket')} and p.user_id = k.user_id
    where p.has_preferences ${lockOrder('p', 'user_id')} for update of p`,
)

/** Locks those of these people who have preferences, always in the same order, and after their sessions. */
export async function lockPeople(
  tx: Db,
  userIds: Iterable<string>,
  zone: string,
): Promise<Map<string, Preferences>> {
  const keys = [...new Set(userIds)].map((user_id) => ({ bucket: bucketOf(user_id), user_id }))
  if (keys.length === 0) return new Map()
  return byUser(await LOCK.run<{ person: string }>(tx, { k: keys }), zone)
}

const READ = statement(
  { k: KEYS },
  ({ k }) => `select row_to_json(p)::text as person from ${k}
    join wakeful.people p on ${eqByKey('p.bucket', 'k.bucket')} and p.user_id = k.user_id`,
)

/** Current preferences; people without a row are absent. */
export async function readPeople(
  db: Db,
  userIds: Iterable<string>,
  zone: string,
): Promise<Map<string, Preferences>> {
  const keys = [...new Set(userIds)].map((user_id) => ({ bucket: bucketOf(user_id), user_id }))
  return byUser(await READ.run<{ person: string }>(db, { k: keys }), zone)
}

function byUser(found: readonly { person: string }[], zone: string): Map<string, Preferences> {
  return new Map(
    found.map(({ person }) => {
      const row = readPerson(person)
      return [row.user_id, preferencesOf(row, zone)]
    }),
  )
}

const COUNT = statement(
  { i: rows({ bucket: 'smallint', user_id: 'text', day: 'text?', count: 'int' }) },
  ({ i }) => `update wakeful.people p set unasked_day = i.day, unasked_count = i.count from ${i}
    where ${eqByKey('p.bucket', 'i.bucket')} and p.user_id = i.user_id`,
)

/** Writes how much was said unasked, of people whose rows are locked. */
export async function countUnasked(
  tx: Db,
  counts: ReadonlyMap<string, Preferences['unasked']>,
): Promise<void> {
  if (counts.size === 0) return
  const i = [...counts].map(([user_id, unasked]) => ({
    bucket: bucketOf(user_id),
    user_id,
    ...unasked,
  }))
  await COUNT.run(tx, { i })
}

const ONE = `select row_to_json(p)::text as person from wakeful.people p where p.bucket = $1 and p.user_id = $2`

export async function getPerson(db: Db, userId: string): Promise<PersonRow | null> {
  const [row] = await db.query<{ person: string }>(ONE, [bucketOf(userId), userId])
  return row === undefined ? null : readPerson(row.person)
}

/** The same with its lock; the row exists afterwards. */
export async function lockOnePerson(tx: Db, userId: string): Promise<PersonRow> {
  const who = [bucketOf(userId), userId]
  await tx.query(
    `insert into wakeful.people (bucket, user_id, created_at) values ($2, $3, ${NOW}) on conflict do nothing`,
    [tx.now(), ...who],
  )
  const [row] = await tx.query<{ person: string }>(`${ONE} for update of p`, who)
  if (row === undefined) throw new Error(`the person ${userId} was not written`)
  return readPerson(row.person)
}

/** Of a row that is locked. `timezone` null: nobody knows it. */
export async function writePreferences(
  tx: Db,
  userId: string,
  timezone: string | null,
  preferences: Preferences,
): Promise<void> {
  await tx.query(
    `update wakeful.people set timezone = $3, quiet_hours = $4, most_unasked_per_day = $5, paused_until = $6, muted_agents = $7, has_preferences = $8
     where bucket = $1 and user_id = $2`,
    [
      ...[bucketOf(userId), userId, timezone],
      JSON.stringify(preferences.quietHours),
      ...[preferences.mostUnaskedPerDay, preferences.pausedUntil],
      JSON.stringify(preferences.mutedAgents),
      hasPreferences(preferences),
    ],
  )
}

/** Where somebody's device says that they are: kept unless their zone is known. */
export async function rememberZone(db: Db, userId: string, timezone: string): Promise<void> {
  await db.tx(async (tx) => {
    const bucket = bucketOf(userId)
    const kept = await tx.query(
      `insert into wakeful.people as p (bucket, user_id, timezone, created_at) values ($2, $3, $4, ${NOW})
       on conflict (bucket, user_id) do update set timezone = excluded.timezone where p.timezone is null returning 1`,
      [tx.now(), bucket, userId, timezone],
    )
    if (kept.length > 0) await followPerson(tx, { bucket, userId }, timezone)
  })
}
