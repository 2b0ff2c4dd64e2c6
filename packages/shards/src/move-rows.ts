/**
 * Moves a range of buckets from one shard to another, which may be on another server, in steps of which each is one transaction of one
 * shard. What arrives waits in tables of its own, which no service reads, until the shard it comes from has let it go: nothing is ever
 * due in two places, and after a kill the next run goes on where it stopped.
 */
import { bucketOf, parseDid } from '../../../src/core/session.ts'
import { type Db, SHARD_FENCE } from '../../../src/store/db.ts'
import { NOW } from '../../../src/store/due.ts'
import { readSetting } from '../../../src/store/settings.ts'
import { IN_SEQUENCE } from '../../../src/store/shards/citus.ts'
import type { ShardRange } from '../../../src/store/shards/ranges.ts'

type Range = Pick<ShardRange, 'first' | 'last'>

const BATCH_ROWS = 1_000
/** Belongs to the first shard, whatever its buckets say. */
const HOME_ONLY: ReadonlySet<string> = new Set(['source_polls'])
/** Rows that are about nobody in particular have a bucket, too: a range refuses none of them. */
const UNFENCED: ReadonlySet<string> = new Set(['audit_log'])
/** Without a bucket, and all the same somebody's: the column that says whose. */
const BY_OWNER: Readonly<Record<string, string>> = {
  signals: 'user_id',
  idempotency_keys: 'owner',
}

/** The tables of people's rows, those that others refer to first. */
export async function movedTables(db: Db): Promise<string[]> {
  const tables = await db.query<{ name: string }>(
    `select c.relname::text as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'bucket' and not a.attisdropped
     where c.relkind = 'r' and c.relnamespace = to_regnamespace($1) and c.relname not like 'arriving\\_%' order by c.relname`,
    [db.schema],
  )
  const links = await db.query<{ name: string; parent: string }>(
    `select c.relname::text as name, p.relname::text as parent from pg_constraint k
     join pg_class c on c.oid = k.conrelid join pg_class p on p.oid = k.confrelid
     where k.contype = 'f' and c.relnamespace = to_regnamespace($1) and p.oid <> c.oid`,
    [db.schema],
  )
  const left = tables.map(({ name }) => name).filter((name) => !HOME_ONLY.has(name))
  const ordered: string[] = []
  while (left.length > 0) {
    const free = left.find((name) => !links.some((l) => l.name === name && left.includes(l.parent)))
    if (free === undefined) throw new Error('the tables refer to one another in a circle')
    ordered.push(...left.splice(left.indexOf(free), 1))
  }
  return ordered
}

/** Rows of these buckets; of the audit log only what is about somebody. */
function within(table: string, { first, last }: Range): string {
  const range = `bucket between ${first} and ${last}`
  return table === 'audit_log' ? `${range} and owner is not null` : range
}

/** Those whose rows are in these buckets. What is everybody's each shard has. */
async function ownersIn(tx: Db, table: string, column: string, range: Range): Promise<string[]> {
  const found = await tx.query<{ owner: string }>(
    `select distinct ${column} as owner from wakeful.${table} where ${column} is not null`,
  )
  return found.map(({ owner }) => owner).filter((owner) => isIn(range, bucketOf(userOf(owner))))
}

const isIn = ({ first, last }: Range, bucket: number) => bucket >= first && bucket <= last

/** A user id, a DID, or `user:<id>`. */
function userOf(owner: string): string {
  return parseDid(owner)?.userId ?? owner.replace(/^user:/, '')
}

const arriving = (table: string) => `wakeful.arriving_${table}`

/** Into the target's waiting room, which is emptied first. `from` holds what it reads: see `holdShard`. */
export async function bring(from: Db, to: Db, range: Range): Promise<number> {
  let rows = 0
  await to.tx(async (target) => {
    if (to.spread) await target.exec(IN_SEQUENCE)
    for (const table of [...(await movedTables(from)), ...Object.keys(BY_OWNER)]) {
      await target.exec(`drop table if exists ${arriving(table)};
        create table ${arriving(table)} (like wakeful.${table})`)
      const column = BY_OWNER[table]
      const owners = column === undefined ? [] : await ownersIn(from, table, column, range)
      const which =
        column === undefined
          ? within(table, range)
          : `(${column} is null or ${column} = any($1::text[]))`
      rows += await copyRows(from, target, table, which, column === undefined ? [] : [owners])
    }
  })
  return rows
}

async function copyRows(
  from: Db,
  to: Db,
  table: string,
  which: string,
  values: unknown[],
): Promise<number> {
  // As JSON text: instants keep their microseconds, and what was kept verbatim stays so.
  await from.query(
    `declare moved_${table} no scroll cursor for select row_to_json(t)::text as row from wakeful.${table} t where ${which}`,
    values,
  )
  for (let rows = 0; ; ) {
    const batch = await from.query<{ row: string }>(`fetch ${BATCH_ROWS} from moved_${table}`)
    if (batch.length > 0)
      await to.query(
        `insert into ${arriving(table)} select r.* from unnest($1::text[]) j(row)
         cross join lateral json_populate_record(null::${arriving(table)}, j.row::json) r`,
        [batch.map(({ row }) => row)],
      )
    rows += batch.length
    if (batch.length < BATCH_ROWS) {
      await from.exec(`close moved_${table}`)
      return rows
    }
  }
}

/** From the waiting room to where it is served, at once. Not twice: the room is gone with it. */
export async function settleIn(to: Db, range: Range): Promise<void> {
  await to.tx(async (tx) => {
    if (to.spread) await tx.exec(IN_SEQUENCE)
    const tables = await movedTables(tx)
    const [room] = await tx.query(
      `select 1 from pg_tables where schemaname = $1 and tablename = 'arriving_sessions'`,
      [tx.schema],
    )
    if (room !== undefined)
      for (const table of [...tables, ...Object.keys(BY_OWNER)])
        await tx.exec(`insert into wakeful.${table} select * from ${arriving(table)} on conflict do nothing;
          drop table ${arriving(table)}`)
    // Of what ran there the row of its batch stayed behind.
    await tx.query(
      `update wakeful.sessions set due_at = ${NOW} where due_at is null and done_seq < last_seq and ${within('sessions', range)}`,
      [tx.now()],
    )
    await fence(tx, tables, range)
  })
}

/** Nobody reads or writes the shard's rows of people until the transaction ends. */
export async function holdShard(tx: Db): Promise<void> {
  if (tx.spread) await tx.exec(IN_SEQUENCE)
  const tables = (await movedTables(tx)).map((table) => `wakeful.${table}`)
  await tx.exec(`lock table ${tables.join(', ')} in access exclusive mode`)
}

/** Deletes the rows, and makes the shard refuse new ones of that range. Records where they went. */
export async function letGo(tx: Db, gone: Range, kept: Range, to: number): Promise<void> {
  const tables = await movedTables(tx)
  for (const table of tables.toReversed())
    await tx.exec(`delete from wakeful.${table} where ${within(table, gone)}`)
  for (const [table, column] of Object.entries(BY_OWNER)) {
    const owners = await ownersIn(tx, table, column, gone)
    await tx.query(`delete from wakeful.${table} where ${column} = any($1::text[])`, [owners])
  }
  await fence(tx, tables, kept)
  await tx.query(
    `insert into wakeful.settings (key, value, created_at) values ($2, $3, ${NOW}) on conflict (key) do nothing`,
    [tx.now(), GONE_TO(to), `${gone.first}-${gone.last}`],
  )
}

const GONE_TO = (number: number) => `gone_to_shard_${number}`

/** Whether `letGo` has committed. */
export async function hasLetGo(from: Db, to: number): Promise<boolean> {
  return (await readSetting(from, GONE_TO(to))) !== null
}

/** The table itself refuses writes of a process that still has the old map. */
async function fence(tx: Db, tables: readonly string[], { first, last }: Range): Promise<void> {
  for (const table of tables.filter((each) => !UNFENCED.has(each)))
    await tx.exec(`alter table wakeful.${table} drop constraint if exists ${SHARD_FENCE};
      alter table wakeful.${table} add constraint ${SHARD_FENCE} check (bucket between ${first} and ${last}) not valid`)
}
