/** What only Citus can do: moving a slice from one node to another while it works. */
import type { Db } from '../db/db.ts'

export async function moveSchema(db: Db, host: string, port: number): Promise<void> {
  const [citus] = await db.query(`select 1 from pg_extension where extname = 'citus'`)
  if (citus === undefined)
    throw new Error(
      'this PostgreSQL is no Citus: move a slice with the means of PostgreSQL (a replica, or pg_dump of its schema), and name its new place in WAKEFUL_SLICES',
    )
  await db.query('select citus_schema_move($1::regnamespace, $2, $3::int)', [db.schema, host, port])
}
