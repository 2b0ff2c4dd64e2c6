/** Which outputs have files, and where those are kept. */

import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { rows, statement } from '../../store/statement.ts'
import { type FileOwner, ownerOfKey } from './file.ts'

export interface OutputFile {
  readonly file_key: string
  readonly file_name: string
  readonly file_format: string
}

/** The file of one run, of this user's work only (null: anybody's). */
export async function findFile(
  db: Db,
  workId: string,
  runNumber: number,
  userId: string | null,
): Promise<OutputFile | null> {
  const [work] = await db.query<{ bucket: number }>(
    `select bucket from wakeful.work
     where id = $1 and ($2::text is null or (bucket = $3::smallint and user_id = $2))`,
    [workId, userId, userId === null ? null : bucketOf(userId)],
  )
  if (work === undefined) return null
  const [row] = await db.query<OutputFile>(
    `select file_key, file_name, file_format from wakeful.work_outputs
     where bucket = $1 and work_id = $2 and run_number = $3 and status = 'completed' and file_key is not null`,
    [work.bucket, workId, runNumber],
  )
  return row ?? null
}

const KNOWN = statement(
  { k: rows({ bucket: 'smallint', workId: 'uuid', runNumber: 'int' }) },
  ({ k }) => `select o.file_key from wakeful.work_outputs o
    join ${k} on o.bucket = k.bucket and o.work_id = k.work_id and o.run_number = k.run_number
    where o.file_key is not null`,
)

/** Those of the given keys that an output names. */
export async function knownFiles(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const owners = keys.map(ownerOfKey).filter((owner): owner is FileOwner => owner !== null)
  const known = await KNOWN.run<{ file_key: string }>(db, { k: owners })
  return new Set(known.map((row) => row.file_key))
}
