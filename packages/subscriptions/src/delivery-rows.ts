/** What is on its way to somebody outside: due rows, claimed and settled as wakes are. */
import { newId } from '../../../src/core/ids.ts'
import type { Db } from '../../../src/store/db.ts'
import {
  claimRows,
  DELIVERIES,
  eqByKey,
  inMs,
  LEASE,
  NOW,
  oneInOrder,
  takenAndNext,
  takenOf,
} from '../../../src/store/due.ts'
import { rows, rowsOf, statement } from '../../../src/store/statement.ts'
import type { DeliveryOutcome } from './rules.ts'

const ADD = statement(
  {
    i: rows({
      bucket: 'smallint',
      id: 'uuid',
      subscriptionId: 'uuid',
      userId: 'text',
      eventId: 'text',
      body: 'text',
    }),
  },
  ({
    i,
  }) => `insert into wakeful.subscription_deliveries (bucket, id, subscription_id, user_id, event_id, body, due_at, created_at)
    select bucket, id, subscription_id, user_id, event_id, body, ${NOW}, ${NOW} from ${i} on conflict do nothing`,
)

export type NewDelivery = Parameters<typeof ADD.run>[1]['i'][number]

/** Due at once. */
export async function addDeliveries(tx: Db, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length > 0) await ADD.run(tx, { i: deliveries })
}

const END = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ i }) => `with dropped as (
      delete from wakeful.subscription_deliveries d using ${i}
      where ${eqByKey('d.bucket', 'i.bucket')} and d.subscription_id = i.id),
    ended as (
      update wakeful.subscriptions s set ended_at = ${NOW}, updated_at = ${NOW}
      from ${i} where ${eqByKey('s.bucket', 'i.bucket')} and ${eqByKey('s.id', 'i.id')} and s.ended_at is null
      returning s.bucket, s.id, s.user_id)
    select bucket, id as "subscriptionId", user_id as "userId" from ended`,
)

/** Nothing more is read for these, and of what waits nothing is sent but this last word. Answers how many were ended by it. */
export async function endSubscriptions(
  tx: Db,
  keys: readonly { readonly bucket: number; readonly id: string }[],
  body: string,
): Promise<number> {
  if (keys.length === 0) return 0
  const ended = await END.run<Pick<NewDelivery, 'bucket' | 'subscriptionId' | 'userId'>>(tx, {
    i: keys,
  })
  await addDeliveries(
    tx,
    ended.map((row) => ({ ...row, id: newId(), eventId: newId(), body })),
  )
  return ended.length
}

export interface ClaimedDelivery {
  readonly bucket: number
  readonly id: string
  readonly subscription_id: string
  readonly user_id: string
  readonly event_id: string
  readonly body: string
  readonly attempt: number
  readonly failure_count: number
  readonly created_at: Date
  readonly was_due_at: Date
  /** JSON text: `{url, secrets}`; null where the subscription is gone. */
  readonly receiver: string | null
  readonly now: Date
}

/** While a secret is being changed both sign, the new one first. */
const RECEIVER = `(select json_build_object('url', s.url, 'secrets',
    case when s.old_secret_until > ${NOW} then json_build_array(s.secret, s.old_secret) else json_build_array(s.secret) end)
  from wakeful.subscriptions s where s.bucket = t.bucket and s.id = t.subscription_id)`

/** Attempts are counted when claimed, so that one which kills its process ends too. */
const CLAIM = statement(LEASE, (lease) =>
  takenAndNext(
    DELIVERIES,
    claimRows(
      DELIVERIES,
      lease,
      `t.bucket, t.id, t.subscription_id, t.user_id, t.event_id, t.body, t.attempt, t.failure_count, t.created_at, d.was_due_at,
       ${RECEIVER} as receiver`,
      { set: ', attempt = t.attempt + 1' },
    ),
  ),
)

export async function claimDeliveries(
  db: Db,
  limit: number,
  leaseMs: number,
  token: string,
): Promise<{ deliveries: ClaimedDelivery[]; nextMs: number | null }> {
  const values = CLAIM.values(db, { limit, leaseMs, token })
  const { taken, nextMs } = takenOf<ClaimedDelivery>(await oneInOrder(db, CLAIM.text, values))
  return { deliveries: taken, nextMs }
}

export interface SettledDelivery {
  readonly bucket: number
  readonly id: string
  readonly token: string
  readonly outcome: DeliveryOutcome
}

const waitOf = ({ outcome }: SettledDelivery) => (outcome.type === 'later' ? outcome.waitMs : null)

const SETTLED = {
  i: rowsOf<SettledDelivery>({
    bucket: ['smallint', (each) => each.bucket],
    id: ['uuid', (each) => each.id],
    token: ['uuid', (each) => each.token],
    wait_ms: ['float8?', waitOf],
  }),
} as const
const IS_HELD = `${eqByKey('d.bucket', 'i.bucket')} and ${eqByKey('d.id', 'i.id')} and d.claim_token = i.token`

const DEFER = statement(
  SETTLED,
  ({ i }) => `update wakeful.subscription_deliveries d
    set due_at = ${inMs('i.wait_ms')}, failure_count = d.failure_count + 1, claim_token = null, claimed_at = null
    from ${i} where ${IS_HELD} returning d.bucket, d.id, d.subscription_id`,
)
const DONE = statement(
  SETTLED,
  ({ i }) =>
    `delete from wakeful.subscription_deliveries d using ${i} where ${IS_HELD} returning d.bucket, d.id, d.subscription_id`,
)

interface Written {
  readonly bucket: number
  readonly id: string
  readonly subscription_id: string
}

const STATUS = statement(
  {
    i: rows({
      bucket: 'smallint',
      id: 'uuid',
      taken: 'boolean',
      givenUp: 'boolean',
      error: 'text?',
    }),
  },
  ({ i }) => `update wakeful.subscriptions s
    set last_delivery_at = case when i.taken then ${NOW} else s.last_delivery_at end,
        failed_since = case when i.error is null then null else coalesce(s.failed_since, ${NOW}) end,
        last_error = coalesce(i.error, s.last_error), truncated = s.truncated or i.given_up
    from ${i} where ${eqByKey('s.bucket', 'i.bucket')} and ${eqByKey('s.id', 'i.id')}`,
)

/** The last word has been said: what was ended is gone. */
const BURY = statement(
  { i: rows({ bucket: 'smallint', id: 'uuid' }) },
  ({ i }) => `delete from wakeful.subscriptions s using ${i}
    where ${eqByKey('s.bucket', 'i.bucket')} and ${eqByKey('s.id', 'i.id')} and s.ended_at is not null`,
)

/** What was claimed becomes gone or due again, and its subscription knows how it went. Answers which were still ours. */
export async function settleDeliveries(
  tx: Db,
  settled: readonly SettledDelivery[],
): Promise<boolean[]> {
  const later = settled.filter((each) => waitOf(each) !== null)
  const over = settled.filter((each) => waitOf(each) === null)
  const deferred = later.length === 0 ? [] : await DEFER.run<Written>(tx, { i: later })
  const done = over.length === 0 ? [] : await DONE.run<Written>(tx, { i: over })
  const ours = new Map([...deferred, ...done].map((row) => [row.id, row]))
  const states = new Map<string, { bucket: number; id: string } & Went>()
  for (const { id, outcome } of settled) {
    const row = ours.get(id)
    if (row === undefined) continue
    const { bucket, subscription_id: key } = row
    states.set(key, { bucket, id: key, ...wentOf(outcome, states.get(key)) })
  }
  const all = [...states.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  if (all.length > 0) await STATUS.run(tx, { i: all })
  const ended = done.map((row) => ({ bucket: row.bucket, id: row.subscription_id }))
  if (ended.length > 0) await BURY.run(tx, { i: ended })
  return settled.map(({ id }) => ours.has(id))
}

interface Went {
  readonly taken: boolean
  readonly givenUp: boolean
  /** Null: the last one went well. */
  readonly error: string | null
}

function wentOf(outcome: DeliveryOutcome, before: Went | undefined): Went {
  return {
    taken: outcome.type === 'taken' || before?.taken === true,
    givenUp: outcome.type === 'given_up' || before?.givenUp === true,
    error: outcome.type === 'taken' ? null : outcome.error,
  }
}
