/** Hooks: who may tell what happens outside, and by which secret. In the first shard. */

import type { Db } from '../../../src/store/db.ts'
import { inMs, NOW } from '../../../src/store/due.ts'
import { statement } from '../../../src/store/statement.ts'
import type { Scheme } from './signature.ts'

export interface HookRow {
  readonly name: string
  /** Null: what it tells reaches everybody. */
  readonly user_id: string | null
  readonly scheme: Scheme
  readonly secret: string
  readonly old_secret: string | null
  /** Until then the old secret is taken, too. */
  readonly old_secret_until: Date | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly now: Date
}

const ROW = `h.name, h.user_id, h.scheme, h.secret, h.old_secret, h.old_secret_until, h.created_at, h.updated_at, ${NOW} as now`

/** Null without one. `lock`: held until the transaction ends. */
export async function getHook(db: Db, name: string, lock = false): Promise<HookRow | null> {
  const [row] = await db.query<HookRow>(
    `select ${ROW} from wakeful.hooks h where h.name = $2${lock ? ' for update' : ''}`,
    [db.now(), name],
  )
  return row ?? null
}

/** In the order of their names, those after `after`. */
export async function listHooks(db: Db, after: string | null, limit: number): Promise<HookRow[]> {
  return db.query<HookRow>(
    `select ${ROW} from wakeful.hooks h where $2::text is null or h.name > $2 order by h.name limit $3::int`,
    [db.now(), after, limit],
  )
}

export async function countHooks(db: Db): Promise<number> {
  const [row] = await db.query<{ n: number }>('select count(*)::int as n from wakeful.hooks')
  return row?.n ?? 0
}

const SAVE = statement(
  { name: 'text', userId: 'text?', scheme: 'text', secret: 'text', oldSecretMs: 'float8?' },
  (p) => `insert into wakeful.hooks as h (name, user_id, scheme, secret, created_at, updated_at)
    values (${p.name}, ${p.userId}, ${p.scheme}, ${p.secret}, ${NOW}, ${NOW})
    on conflict (name) do update
      set user_id = excluded.user_id, scheme = excluded.scheme, secret = excluded.secret, updated_at = ${NOW},
          old_secret = case when h.secret = excluded.secret then h.old_secret when ${p.oldSecretMs} is not null then h.secret end,
          old_secret_until = case when h.secret = excluded.secret then h.old_secret_until
            when ${p.oldSecretMs} is not null then ${inMs(p.oldSecretMs)} end
    returning ${ROW}`,
)

/** Makes it, or changes the one of that name. `oldSecretMs`: how long a secret that is replaced is still taken; null: not at all. */
export async function saveHook(db: Db, hook: Parameters<typeof SAVE.run>[1]): Promise<HookRow> {
  const [row] = await SAVE.run<HookRow>(db, hook)
  if (row === undefined) throw new Error(`the hook ${hook.name} was not written`)
  return row
}

/** False when no hook has this name. */
export async function deleteHook(db: Db, name: string): Promise<boolean> {
  const gone = await db.query('delete from wakeful.hooks where name = $1 returning 1', [name])
  return gone.length > 0
}
