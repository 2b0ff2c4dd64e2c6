/** What a person wants is changed, and with it the moments of what is parked for them. */
import { changeManners, type MannerWish } from '../../core/people/change.ts'
import type { PersonRow } from '../../core/people/fields.ts'
import type { Manners } from '../../core/people/manners.ts'
import { judgeParked } from '../../core/people/parked.ts'
import type { Db } from '../db/db.ts'
import { databaseNow } from '../db/due.ts'
import { lockParked, type Moved, moveParked, type ParkedRow } from './parked.ts'
import { lockOnePerson, writeManners } from './people.ts'

/**
 * Throws a `Refusal`. `zone`: the server's own. Slots are locked before people: who releases them holds a slot and waits for a
 * session, whose commit waits for the person.
 */
export async function changePerson(
  tx: Db,
  userId: string,
  zone: string,
  wishOf: (row: PersonRow, now: Date) => MannerWish,
): Promise<{ readonly manners: Manners; readonly moved: readonly Moved[] }> {
  const slots = await lockParked(tx, userId)
  const row = await lockOnePerson(tx, userId)
  const now = await databaseNow(tx)
  const { timezone, manners } = changeManners(row, wishOf(row, now), zone, now)
  await writeManners(tx, userId, timezone, manners)
  const moved = slots.flatMap((slot) => movedBy(slot, judgeParked(slot, manners, now), now))
  await moveParked(tx, moved)
  return { manners, moved }
}

function movedBy(slot: ParkedRow, verdict: ReturnType<typeof judgeParked>, now: Date): Moved[] {
  const { bucket, id, rule, release_at } = slot
  if (rule === 'late') return []
  const next = verdict.move === 'park' ? verdict : { rule, until: now }
  if (release_at?.getTime() === next.until.getTime()) return []
  return [{ bucket, id, status: 'waiting', rule: next.rule, release_at: next.until }]
}
