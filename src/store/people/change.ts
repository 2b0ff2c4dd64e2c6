/** What a person wants is changed, and with it the moments of what is deferred for them. */
import { changePreferences, type PreferenceWish } from '../../core/people/change.ts'
import { judgeDeferred } from '../../core/people/deferred.ts'
import type { PersonRow } from '../../core/people/fields.ts'
import type { Preferences } from '../../core/people/preferences.ts'
import type { Db } from '../db/db.ts'
import { databaseNow } from '../db/due.ts'
import { type DeferredRow, lockDeferred, type Moved, moveDeferred } from './deferred.ts'
import { lockOnePerson, writePreferences } from './people.ts'

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
