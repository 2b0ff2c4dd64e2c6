/** Facts from outside: kept once each, found by whom they concern, and looked at by conditions. */
import { newId } from '../../core/ids.ts'
import type { NewSignal, SignalKind } from '../../core/intents/signal.ts'
import { bucketOf } from '../../core/sessions/session.ts'
import type { Db } from '../db/db.ts'
import { NOW } from '../db/due.ts'

/** For everybody. In the indexes nobody's name stands for it, since null equals nothing. */
export const EVERYBODY = ''

export interface KeptSignal {
  readonly id: string
  /** It is news to us: not told before, or an entry that has changed. */
  readonly fresh: boolean
}

/** What became of one signal. */
export interface TakenSignal {
  readonly id: string
  /** It was news to us. */
  readonly stored: boolean
  /** How many intents it fired. */
  readonly promoted: number
}

const IDENTITY = `kind, coalesce(user_id, ''), fact`

/** In the order of their identity, so that two tellers of the same facts wait for one another instead of for each other. */
const KEEP = `insert into wakeful.signals as s (id, kind, user_id, key, fact, payload, at, ends_at, traceparent, created_at)
  select id, kind, user_id, key, fact, payload::json, at, ends_at, traceparent, ${NOW}
  from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[], $9::timestamptz[], $10::text[])
    i(id, kind, user_id, key, fact, payload, at, ends_at, traceparent)
  order by ${IDENTITY}
  on conflict (${IDENTITY}) do update
    set payload = excluded.payload, at = excluded.at, ends_at = excluded.ends_at, key = excluded.key, traceparent = excluded.traceparent
    where s.kind = 'calendar' and (s.at, s.ends_at, s.payload::text) is distinct from (excluded.at, excluded.ends_at, excluded.payload::text)
  returning id, kind, coalesce(user_id, '') as owner, fact`

/** Keeps each fact once; answers in their order. Within one call the first telling counts, of a calendar entry the last. */
export async function keepSignals(tx: Db, signals: readonly NewSignal[]): Promise<KeptSignal[]> {
  const wanted = new Map<string, NewSignal>()
  for (const signal of signals) {
    const key = identityOf(signal)
    if (signal.kind === 'calendar' || !wanted.has(key)) wanted.set(key, signal)
  }
  const kept = [...wanted.values()]
  const rows = await tx.query<{ id: string; kind: SignalKind; owner: string; fact: string }>(KEEP, [
    tx.now(),
    kept.map(() => newId()),
    kept.map((s) => s.kind),
    kept.map((s) => s.userId),
    kept.map((s) => s.key),
    kept.map((s) => s.fact),
    kept.map((s) => s.payload),
    kept.map((s) => s.at),
    kept.map((s) => s.endsAt ?? null),
    kept.map((s) => s.traceparent ?? null),
  ])
  const fresh = new Map(rows.map((row) => [`${row.kind} ${row.owner} ${row.fact}`, row.id]))
  const rest = kept.filter((signal) => !fresh.has(identityOf(signal)))
  const known = rest.length === 0 ? new Map<string, string>() : await knownSignals(tx, rest)
  return signals.map((signal) => {
    const key = identityOf(signal)
    const id = fresh.get(key)
    if (id !== undefined) return { id, fresh: wanted.get(key) === signal }
    return { id: known.get(key) ?? newId(), fresh: false }
  })
}

export function identityOf({ kind, userId, fact }: NewSignal): string {
  return `${kind} ${userId ?? EVERYBODY} ${fact}`
}

async function knownSignals(tx: Db, signals: readonly NewSignal[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ id: string; identity: string }>(
    `select s.id, k.kind || ' ' || k.owner || ' ' || k.fact as identity
     from unnest($1::text[], $2::text[], $3::text[]) k(kind, owner, fact)
     cross join lateral (
       select id from wakeful.signals s
       where s.kind = k.kind and coalesce(s.user_id, '') = k.owner and s.fact = k.fact limit 1) s`,
    identities(signals),
  )
  return new Map(rows.map((row) => [row.identity, row.id]))
}

/** Entries that were called off. */
export async function dropSignals(tx: Db, signals: readonly NewSignal[]): Promise<void> {
  await tx.query(
    `delete from wakeful.signals s using unnest($1::text[], $2::text[], $3::text[]) k(kind, owner, fact)
     where s.kind = k.kind and coalesce(s.user_id, '') = k.owner and s.fact = k.fact`,
    identities(signals),
  )
}

function identities(signals: readonly NewSignal[]): [string[], string[], string[]] {
  return [
    signals.map((s) => s.kind),
    signals.map((s) => s.userId ?? EVERYBODY),
    signals.map((s) => s.fact),
  ]
}

/** What a signal is looked up by: one of its keys, for one person's intents or everybody's. */
export interface WatchKey {
  readonly signal: number
  readonly kind: SignalKind
  readonly key: string
  readonly userId: string | null
}

export interface Watcher {
  readonly signal: number
  readonly bucket: number
  readonly intent_id: string
}

/** Two look-ups instead of one with "or": each reads the rows of its own keys alone. */
const WATCHERS = `select k.signal, w.bucket, w.intent_id
  from unnest($1::int[], $2::text[], $3::text[], $4::text[]) k(signal, kind, key, user_id)
  cross join lateral (
    select bucket, intent_id from wakeful.intent_watches w where k.user_id is null and w.kind = k.kind and w.key = k.key
    union all
    select bucket, intent_id from wakeful.intent_watches w where w.kind = k.kind and w.key = k.key and w.user_id = k.user_id) w`

export async function watchers(tx: Db, keys: readonly WatchKey[]): Promise<Watcher[]> {
  return tx.query<Watcher>(WATCHERS, [
    keys.map((k) => k.signal),
    keys.map((k) => k.kind),
    keys.map((k) => k.key),
    keys.map((k) => k.userId),
  ])
}

export interface PriceRow {
  readonly key: string
  readonly owner: string
  readonly payload: string
  readonly at: Date
}

const NEWEST = `select payload, at from wakeful.signals s
  where s.kind = 'price' and s.key = k.key and coalesce(s.user_id, '') = k.owner order by s.at desc limit 1`

/**
 * The newest price of each ticker for everybody, and where somebody has prices of their own of it, theirs too.
 * Few have: so whether any are there is asked first, once for each ticker.
 */
export async function newestPrices(
  tx: Db,
  wanted: readonly { readonly key: string; readonly userId: string }[],
): Promise<Map<string, PriceRow>> {
  const keys = [...new Set(wanted.map(({ key }) => key))]
  const shared = await tx.query<PriceRow & { own: boolean }>(
    `select k.key, k.owner, s.payload, s.at,
       exists (select 1 from wakeful.signals o where o.kind = 'price' and o.key = k.key and coalesce(o.user_id, '') > '') as own
     from unnest($1::text[], $2::text[]) k(key, owner) left join lateral (${NEWEST}) s on true`,
    [keys, keys.map(() => EVERYBODY)],
  )
  const some = new Set(shared.filter((row) => row.own).map((row) => row.key))
  const owners = new Map(
    wanted.filter(({ key }) => some.has(key)).map((each) => [`${each.key} ${each.userId}`, each]),
  )
  const asked = [...owners.values()]
  const own =
    asked.length === 0
      ? []
      : await tx.query<PriceRow>(
          `select k.key, k.owner, s.payload, s.at
           from unnest($1::text[], $2::text[]) k(key, owner) cross join lateral (${NEWEST}) s`,
          [asked.map(({ key }) => key), asked.map(({ userId }) => userId)],
        )
  const all = [...shared.filter((row) => row.at !== null), ...own]
  return new Map(all.map((row) => [`${row.key} ${row.owner}`, row]))
}

export interface FactRow {
  readonly id: string
  readonly owner: string
  readonly fact: string
  readonly payload: string
  readonly at: Date
}

/** Of everybody at most; of one person fewer, so that nobody's flood hides what others were told. */
const SHARED_MAX = 2000
const OWN_MAX = 200

/** Facts of one kind since an instant, newest first: those for everybody and those of the given people. */
export async function recentFacts(
  tx: Db,
  kind: 'news' | 'event',
  users: readonly string[],
  since: Date,
): Promise<FactRow[]> {
  return tx.query<FactRow>(
    `select s.id, k.owner, s.fact, s.payload, s.at from unnest($1::text[], $2::int[]) k(owner, most)
     cross join lateral (
       select id, fact, payload, at from wakeful.signals s
       where s.kind = $3 and coalesce(s.user_id, '') = k.owner and s.at >= $4::timestamptz
       order by s.at desc limit k.most) s`,
    [...owners(users), kind, since],
  )
}

/** Calendar entries yet to start, soonest first. */
export async function entriesAhead(tx: Db, users: readonly string[]): Promise<FactRow[]> {
  return tx.query<FactRow>(
    `select s.id, k.owner, s.fact, s.payload, s.at from unnest($2::text[], $3::int[]) k(owner, most)
     cross join lateral (
       select id, fact, payload, at from wakeful.signals s
       where s.kind = 'calendar' and coalesce(s.user_id, '') = k.owner and s.at >= ${NOW}
       order by s.at limit k.most) s`,
    [tx.now(), ...owners(users)],
  )
}

function owners(users: readonly string[]): [string[], number[]] {
  return [
    [EVERYBODY, ...users],
    [SHARED_MAX, ...users.map(() => OWN_MAX)],
  ]
}

/** When each of these people last wrote, in any session; absent who never did. */
export async function lastUserAt(tx: Db, users: readonly string[]): Promise<Map<string, Date>> {
  const rows = await tx.query<{ user_id: string; at: Date | null }>(
    `select k.user_id, (
       select max(s.last_user_at) from wakeful.sessions s
       where s.bucket = k.bucket and s.session_key > k.user_id || ':' and s.session_key < k.user_id || ';') as at
     from unnest($1::smallint[], $2::text[]) k(bucket, user_id)`,
    [users.map(bucketOf), users],
  )
  return new Map(rows.flatMap(({ user_id, at }) => (at === null ? [] : [[user_id, at]])))
}

export interface UsedFact {
  readonly bucket: number
  readonly intentId: string
  readonly key: string
}

/** Of these, the ones that have fired their intent already, as `intent key`. */
export async function usedFacts(tx: Db, facts: readonly UsedFact[]): Promise<Set<string>> {
  if (facts.length === 0) return new Set()
  const rows = await tx.query<{ used: string }>(
    `select u.intent_id || ' ' || u.key as used
     from unnest($1::smallint[], $2::uuid[], $3::text[]) k(bucket, intent_id, key)
     cross join lateral (
       select intent_id, key from wakeful.intent_used u
       where u.bucket = k.bucket and u.intent_id = k.intent_id and u.key = k.key limit 1) u`,
    [facts.map((f) => f.bucket), facts.map((f) => f.intentId), facts.map((f) => f.key)],
  )
  return new Set(rows.map((row) => row.used))
}

export async function useFacts(tx: Db, facts: readonly UsedFact[]): Promise<void> {
  await tx.query(
    `insert into wakeful.intent_used (bucket, intent_id, key, used_at)
     select bucket, intent_id, key, ${NOW} from unnest($2::smallint[], $3::uuid[], $4::text[]) i(bucket, intent_id, key)
     on conflict do nothing`,
    [tx.now(), facts.map((f) => f.bucket), facts.map((f) => f.intentId), facts.map((f) => f.key)],
  )
}

/** Facts that are older than they are kept, except entries that have not ended; and what was remembered of long ago. */
export async function pruneSignals(
  db: Db,
  keepMs: number,
  rememberMs: number,
  limit: number,
): Promise<number> {
  const before = (ms: string) => `${NOW} - ${ms}::float8 * interval '1 millisecond'`
  const gone = await db.query(
    `delete from wakeful.signals where id = any(array(
       select t.id from wakeful.signals t
       where t.created_at < ${before('$2')} and (t.kind <> 'calendar' or coalesce(t.ends_at, t.at) < ${NOW})
       order by t.created_at limit $3::int)) returning 1`,
    [db.now(), keepMs, limit],
  )
  const forgotten = await db.query(
    `delete from wakeful.intent_used where ctid = any(array(
       select t.ctid from wakeful.intent_used t where t.used_at < ${before('$2')} limit $3::int)) returning 1`,
    [db.now(), rememberMs, limit],
  )
  return gone.length + forgotten.length
}
