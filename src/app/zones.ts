/**
 * Rules of time zones change with the version of Node. What was stored under the old ones would keep its old instant once, an hour off;
 * where a store was last served under others, the slots that wait are reckoned again before anything of it is served.
 */
import { movedSlot } from '../../packages/schedule/src/moved.ts'
import type { Db } from '../store/db.ts'
import { keepSetting, putSetting } from '../store/settings.ts'
import { moveSlots } from '../store/zoned.ts'

const KEY = 'tz_data'

/** Answers how many were moved, by table; null where the rules are those of last time. */
export async function followRules(
  db: Db,
  version: string,
): Promise<Readonly<Record<string, number>> | null> {
  if ((await keepSetting(db, KEY, version)) === version) return null
  const moved = await moveSlots(db, 'zoned', (row) => movedSlot(row, row.slot, row.now))
  await putSetting(db, KEY, version)
  return moved
}
