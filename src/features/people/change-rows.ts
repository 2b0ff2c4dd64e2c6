/** What a person wants is changed, and with it the moments of what is deferred for them. */

import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { changePreferences, type PreferenceWish } from './change.ts'
import { judgeDeferred } from './deferred.ts'
import { type DeferredRow, lockDeferred, type Moved, moveDeferred } from './deferred-rows.ts'
import type { PersonRow } from './fields.ts'
import type { Preferences } from './preferences.ts'
import { lockOnePerson, writePreferences } from './rows.ts'

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
