/** The lease of the one process that reads an account of a channel, and its cursor, written after what it read is durable. */
import type { Db } from '../../../../src/store/db.ts'
import { inMs, NOW } from '../../../../src/store/due.ts'
import { statement } from '../../../../src/store/statement.ts'

/** An account of a channel, such as a bot. */
export interface Account {
  readonly channel: string
  readonly account: string
}

const TAKE = statement(
  { channel: 'text', account: 'text', token: 'uuid', leaseMs: 'int' },
  ({
    channel,
    account,
    token,
    leaseMs,
  }) => `insert into wakeful.channel_readers as r (channel, account, claim_token, leased_until, updated_at)
    values (${channel}, ${account}, ${token}, ${inMs(leaseMs)}, ${NOW})
    on conflict (channel, account) do update
      set claim_token = excluded.claim_token, leased_until = excluded.leased_until, updated_at = excluded.updated_at
      where r.claim_token is null or r.claim_token = excluded.claim_token or r.leased_until <= ${NOW}
    returning cursor`,
)

/** Takes or renews the lease. Null while another process has it; otherwise the cursor. */
export async function takeReader(
  db: Db,
  account: Account,
  token: string,
  leaseMs: number,
): Promise<{ cursor: string | null } | null> {
  const [row] = await TAKE.run<{ cursor: string | null }>(db, { ...account, token, leaseMs })
  return row ?? null
}

const ADVANCE = statement(
  { channel: 'text', account: 'text', token: 'uuid', cursor: 'text?' },
  ({
    channel,
    account,
    token,
    cursor,
  }) => `update wakeful.channel_readers set cursor = ${cursor}, updated_at = ${NOW}
    where channel = ${channel} and account = ${account} and claim_token = ${token} returning 1`,
)

/** Everything before the cursor is durable. False if another process has taken the lease. */
export async function advanceReader(
  db: Db,
  account: Account,
  token: string,
  cursor: string | null,
): Promise<boolean> {
  const rows = await ADVANCE.run(db, { ...account, token, cursor })
  return rows.length > 0
}

export async function releaseReader(
  db: Db,
  { channel, account }: Account,
  token: string,
): Promise<void> {
  await db.query(
    `update wakeful.channel_readers set claim_token = null, leased_until = null, updated_at = ${NOW}
     where channel = $2 and account = $3 and claim_token = $4::uuid`,
    [db.now(), channel, account, token],
  )
}
