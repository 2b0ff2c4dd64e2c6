/** Intents that wait for a condition of the app: leased for one poll, and what the poll saw. */
import type { Db } from '../../../src/store/db.ts'
import {
  CONDITIONS,
  claimRows,
  eqByKey,
  LEASE,
  NOW,
  oneInOrder,
  takenAndNext,
  takenOf,
} from '../../../src/store/due.ts'
import { rows, statement } from '../../../src/store/statement.ts'

export interface DueCondition {
  readonly bucket: number
  readonly id: string
  readonly user_id: string
  /** JSON text. */
  readonly trigger_condition: string
}

const CLAIM = statement({ ...LEASE, names: 'text[]' }, ({ names, ...lease }) =>
  takenAndNext(
    CONDITIONS,
    claimRows(CONDITIONS, lease, 't.bucket, t.id, t.user_id, t.trigger_condition', {
      where: `t.trigger_condition ->> 'type' = any(${names})`,
    }),
  ),
)

/** Leases those due whose condition is one of `names`: another process may have others. */
export async function claimConditions(
  db: Db,
  names: readonly string[],
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ readonly claimed: readonly DueCondition[]; readonly nextMs: number | null }> {
  const values = CLAIM.values(db, { limit, leaseMs, token, names })
  const { taken, nextMs } = takenOf<DueCondition>(await oneInOrder(db, CLAIM.text, values))
  return { claimed: taken, nextMs }
}

const FREE = 'claim_token = null, claimed_until = null, claimed_at = null'
const HELD = rows({ bucket: 'smallint', id: 'uuid', token: 'uuid' })
const isHeld = `${eqByKey('t.bucket', 'h.bucket')} and ${eqByKey('t.id', 'h.id')} and t.claim_token = h.token`

const SETTLE = statement(
  { h: HELD, observed: 'json' },
  ({ h, observed }) =>
    `update wakeful.scheduled_intents t set observed = ${observed}, observed_at = ${NOW}, ${FREE} from ${h} where ${isHeld} returning 1`,
)

export interface Held {
  readonly bucket: number
  readonly id: string
  readonly token: string
}

/** Answers whether the lease was still ours; otherwise nothing is written. The clock judges what was seen. */
export async function settleCondition(db: Db, held: Held, observed: object): Promise<boolean> {
  const written = await SETTLE.run(db, { h: [held], observed: JSON.stringify(observed) })
  return written.length > 0
}

const RELEASE = statement(
  { h: HELD },
  ({ h }) => `update wakeful.scheduled_intents t set ${FREE} from ${h} where ${isHeld}`,
)

/** Due at once again, as on a clean stop. */
export async function releaseConditions(db: Db, h: readonly Held[]): Promise<void> {
  if (h.length > 0) await RELEASE.run(db, { h })
}
