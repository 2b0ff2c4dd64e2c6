/** What an installation keeps for itself. */
import type { Db } from './db.ts'
import { NOW } from './due.ts'

/** The stored value, or `fresh` if there was no value yet. Processes starting together agree on one. */
export async function keepSetting(db: Db, key: string, fresh: string): Promise<string> {
  await db.query(
    `insert into wakeful.settings (key, value, created_at) values ($2, $3, ${NOW}) on conflict (key) do nothing`,
    [db.now(), key, fresh],
  )
  const [row] = await db.query<{ value: string }>(
    'select value from wakeful.settings where key = $1',
    [key],
  )
  if (row === undefined) throw new Error(`the setting ${key} was not kept`)
  return row.value
}

export async function putSetting(db: Db, key: string, value: string): Promise<void> {
  await db.query(
    `insert into wakeful.settings (key, value, created_at) values ($2, $3, ${NOW})
     on conflict (key) do update set value = excluded.value`,
    [db.now(), key, value],
  )
}

export async function readSetting(db: Db, key: string): Promise<string | null> {
  const [row] = await db.query<{ value: string }>(
    'select value from wakeful.settings where key = $1',
    [key],
  )
  return row?.value ?? null
}
