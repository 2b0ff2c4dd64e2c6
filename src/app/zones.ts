/**
 * Rules of time zones change with the version of Node. What was stored under the old ones would keep its old instant once, an hour off;
 * where a store was last served under others, the slots that wait are reckoned again before anything of it is served.
 */
import { movedSlot } from '../core/schedule/moved.ts'
import type { Db } from '../store/db/db.ts'
import { keepSetting, putSetting } from '../store/db/settings.ts'
import { moveZoned, readZoned, ZONED, type ZonedRow } from '../store/db/zoned.ts'

const KEY = 'tz_data'
const PAGE = 500

/** Answers how many were moved, by table; null where the rules are those of last time. */
export async function followRules(
  db: Db,
  version: string,
): Promise<Readonly<Record<string, number>> | null> {
  if ((await keepSetting(db, KEY, version)) === version) return null
  const moved: Record<string, number> = {}
  for (const table of ZONED) moved[table] = await moveTable(db, table)
  await putSetting(db, KEY, version)
  return moved
}

async function moveTable(db: Db, table: (typeof ZONED)[number]): Promise<number> {
  let moved = 0
  for (let last: ZonedRow | undefined; ; ) {
    const page = await readZoned(db, table, last, PAGE)
    moved += await moveZoned(db, table, page.flatMap(movesOf))
    last = page.at(-1)
    if (page.length < PAGE) return moved
  }
}

function movesOf(row: ZonedRow) {
  const at = movedSlot(row, row.slot, row.now)
  return at === null ? [] : [{ bucket: row.bucket, id: row.id, was: row.slot, at }]
}
