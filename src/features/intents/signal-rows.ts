/** Facts from outside: kept once each, found by whom they concern, and looked at by conditions. */
import { newId } from '../../core/ids.ts'
import { bucketOf } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, inMs, NOW } from '../../store/due.ts'
import { type RowOf, rows, rowsOf, statement } from '../../store/statement.ts'
import type { NewSignal, SignalKind } from './signal.ts'

/** For everybody. The indexes hold '' for it, since null equals nothing. */
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
const KEEP = statement(
  {
    i: rowsOf<NewSignal>({
      id: ['uuid', () => newId()],
      kind: ['text', (s) => s.kind],
      user_id: ['text?', (s) => s.userId],
      key: ['text', (s) => s.key],
      fact: ['text', (s) => s.fact],
      payload: ['json', (s) => s.payload],
      data: ['json?', (s) => s.data ?? null],
      at: ['timestamptz', (s) => s.at],
      ends_at: ['timestamptz?', (s) => s.endsAt ?? null],
      traceparent: ['text?', (s) => s.traceparent ?? null],
    }),
  },
  ({
    i,
  }) => `insert into wakeful.signals as s (id, kind, user_id, key, fact, payload, data, at, ends_at, traceparent, created_at)
    select id, kind, user_id, key, fact, payload, data, at, ends_at, traceparent, ${NOW} from ${i}
    order by ${IDENTITY}
    on conflict (${IDENTITY}) do update
      set payload = excluded.payload, at = excluded.at, ends_at = excluded.ends_at, key = excluded.key, traceparent = excluded.traceparent
      where s.kind = 'calendar' and (s.at, s.ends_at, s.payload::text) is distinct from (excluded.at, excluded.ends_at, excluded.payload::text)
    returning id, kind, coalesce(user_id, '') as owner, fact`,
)

/** Keeps each fact once; answers in their order. Within one call the first telling counts, of a calendar entry the last. */
export async function keepSignals(tx: Db, signals: readonly NewSignal[]): Promise<KeptSignal[]> {
  const wanted = new Map<string, NewSignal>()
  for (const signal of signals) {
    const key = identityOf(signal)
    if (signal.kind === 'calendar' || !wanted.has(key)) wanted.set(key, signal)
  }
  const kept = [...wanted.values()]
  const written = await KEEP.run<{ id: string; kind: SignalKind; owner: string; fact: string }>(
    tx,
    {
      i: kept,
    },
  )
  const fresh = new Map(written.map((row) => [`${row.kind} ${row.owner} ${row.fact}`, row.id]))
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

const IDENTITIES = rowsOf<NewSignal>({
  kind: ['text', (s) => s.kind],
  owner: ['text', (s) => s.userId ?? EVERYBODY],
  fact: ['text', (s) => s.fact],
})
const IS_IT = `s.kind = k.kind and coalesce(s.user_id, '') = k.owner and s.fact = k.fact`

const KNOWN = statement(
  { k: IDENTITIES },
  ({ k }) => `select s.id, k.kind || ' ' || k.owner || ' ' || k.fact as identity from ${k}
    cross join lateral (select id from wakeful.signals s where ${IS_IT} limit 1) s`,
)

async function knownSignals(tx: Db, signals: readonly NewSignal[]): Promise<Map<string, string>> {
  const known = await KNOWN.run<{ id: string; identity: string }>(tx, { k: signals })
  return new Map(known.map((row) => [row.identity, row.id]))
}

const DROP = statement(
  { k: IDENTITIES },
  ({ k }) => `delete from wakeful.signals s using ${k} where ${IS_IT}`,
)

/** Entries that were called off. */
export async function dropSignals(tx: Db, signals: readonly NewSignal[]): Promise<void> {
  await DROP.run(tx, { k: signals })
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
const WATCHERS = statement(
  { k: rows({ signal: 'int', kind: 'text', key: 'text', userId: 'text?' }) },
  ({ k }) => `select k.signal, w.bucket, w.intent_id
    from ${k}
    cross join lateral (
      select bucket, intent_id from wakeful.intent_watches w where k.user_id is null and w.kind = k.kind and w.key = k.key
      union all
      select bucket, intent_id from wakeful.intent_watches w where w.kind = k.kind and w.key = k.key and w.user_id = k.user_id) w`,
)

export async function watchers(tx: Db, keys: readonly WatchKey[]): Promise<Watcher[]> {
  return WATCHERS.run<Watcher>(tx, { k: keys })
}

export interface PriceRow {
  readonly key: string
  readonly owner: string
  readonly payload: string
  readonly at: Date
}

const NEWEST = `select payload, at from wakeful.signals s
  where s.kind = 'price' and s.key = k.key and coalesce(s.user_id, '') = k.owner order by s.at desc limit 1`

const SHARED_PRICES = statement(
  { keys: 'text[]' },
  ({ keys }) => `select k.key, k.owner, s.payload, s.at,
      exists (select 1 from wakeful.signals o where o.kind = 'price' and o.key = k.key and coalesce(o.user_id, '') > '') as own
    from (select key, '${EVERYBODY}'::text as owner from unnest(${keys}) key) k left join lateral (${NEWEST}) s on true`,
)

const OWN_PRICES = statement(
  { k: rows({ key: 'text', owner: 'text' }) },
  ({ k }) => `select k.key, k.owner, s.payload, s.at from ${k} cross join lateral (${NEWEST}) s`,
)

/**
 * The newest price of each ticker for everybody, and where somebody has prices of their own of it, theirs too.
 * Few have: so whether any are there is asked first, once for each ticker.
 */
export async function newestPrices(
  tx: Db,
  wanted: readonly { readonly key: string; readonly userId: string }[],
): Promise<Map<string, PriceRow>> {
  const keys = [...new Set(wanted.map(({ key }) => key))]
  const shared = await SHARED_PRICES.run<PriceRow & { own: boolean }>(tx, { keys })
  const some = new Set(shared.filter((row) => row.own).map((row) => row.key))
  const asked = new Map(
    wanted.flatMap(({ key, userId: owner }) =>
      some.has(key) ? [[`${key} ${owner}`, { key, owner }]] : [],
    ),
  )
  const own = asked.size === 0 ? [] : await OWN_PRICES.run<PriceRow>(tx, { k: [...asked.values()] })
  const all = [...shared.filter((row) => row.at !== null), ...own]
  return new Map(all.map((row) => [`${row.key} ${row.owner}`, row]))
}

export interface FactRow {
  readonly id: string
  readonly owner: string
  readonly fact: string
  readonly payload: string
  readonly at: Date
  readonly has_data: boolean
}

/** Of everybody at most; of one person fewer, so that one person's flood does not hide the rest. */
const SHARED_MAX = 2000
const OWN_MAX = 200

const OWNERS = rowsOf<string>({
  owner: ['text', (owner) => owner],
  most: ['int', (owner) => (owner === EVERYBODY ? SHARED_MAX : OWN_MAX)],
})
const FACT = 's.id, k.owner, s.fact, s.payload, s.at, s.has_data'

const RECENT = statement(
  { k: OWNERS, kind: 'text', since: 'timestamptz' },
  ({ k, kind, since }) => `select ${FACT} from ${k}
    cross join lateral (
      select id, fact, payload, at, data is not null as has_data from wakeful.signals s
      where s.kind = ${kind} and coalesce(s.user_id, '') = k.owner and s.at >= ${since}
      order by s.at desc limit k.most) s`,
)

/** Facts of one kind since an instant, newest first: those for everybody and those of the given people. */
export async function recentFacts(
  tx: Db,
  kind: 'news' | 'event',
  users: readonly string[],
  since: Date,
): Promise<FactRow[]> {
  return RECENT.run<FactRow>(tx, { k: [EVERYBODY, ...users], kind, since })
}

const AHEAD = statement(
  { k: OWNERS },
  ({ k }) => `select ${FACT} from ${k}
    cross join lateral (
      select id, fact, payload, at, false as has_data from wakeful.signals s
      where s.kind = 'calendar' and coalesce(s.user_id, '') = k.owner and s.at >= ${NOW}
      order by s.at limit k.most) s`,
)

/** Calendar entries yet to start, soonest first. */
export async function entriesAhead(tx: Db, users: readonly string[]): Promise<FactRow[]> {
  return AHEAD.run<FactRow>(tx, { k: [EVERYBODY, ...users] })
}

const DATA = statement(
  { k: rows({ id: 'uuid' }) },
  ({ k }) => `select s.id, s.data from ${k} join wakeful.signals s on ${eqByKey('s.id', 'k.id')}`,
)

/** The data of events, by the ids of their rows, as JSON text. Up to 256 KB each: only what is looked at is read. */
export async function dataOf(tx: Db, ids: ReadonlySet<string>): Promise<Map<string, string>> {
  if (ids.size === 0) return new Map()
  const found = await DATA.run<{ id: string; data: string }>(tx, {
    k: [...ids].map((id) => ({ id })),
  })
  return new Map(found.map(({ id, data }) => [id, data]))
}

const LAST_WORDS = statement(
  { k: rowsOf<string>({ bucket: ['smallint', bucketOf], user_id: ['text', (userId) => userId] }) },
  ({ k }) => `select k.user_id, (
      select max(s.last_user_at) from wakeful.sessions s
      where s.bucket = k.bucket and s.session_key > k.user_id || ':' and s.session_key < k.user_id || ';') as at
    from ${k}`,
)

/** When each of these people last wrote, in any session; absent who never did. */
export async function lastUserAt(tx: Db, users: readonly string[]): Promise<Map<string, Date>> {
  const said = await LAST_WORDS.run<{ user_id: string; at: Date | null }>(tx, { k: users })
  return new Map(said.flatMap(({ user_id, at }) => (at === null ? [] : [[user_id, at]])))
}

const FACT_OF = { bucket: 'smallint', intentId: 'uuid', key: 'text' } as const
const FACTS = rows(FACT_OF)
type Fact = RowOf<typeof FACTS>
const USED_FACTS = rows({ ...FACT_OF, userId: 'text' })

const USED = statement(
  { k: FACTS },
  ({ k }) => `select u.intent_id || ' ' || u.key as used from ${k}
    cross join lateral (
      select intent_id, key from wakeful.intent_used u
      where u.bucket = k.bucket and u.intent_id = k.intent_id and u.key = k.key limit 1) u`,
)

/** Of these, the ones that have fired their intent already, as `intent key`. */
export async function usedFacts(tx: Db, facts: readonly Fact[]): Promise<Set<string>> {
  if (facts.length === 0) return new Set()
  const used = await USED.run<{ used: string }>(tx, { k: facts })
  return new Set(used.map((row) => row.used))
}

const USE = statement(
  { i: USED_FACTS },
  ({ i }) => `insert into wakeful.intent_used (bucket, intent_id, key, user_id, used_at)
    select bucket, intent_id, key, user_id, ${NOW} from ${i} on conflict do nothing`,
)

export async function useFacts(tx: Db, facts: readonly RowOf<typeof USED_FACTS>[]): Promise<void> {
  if (facts.length > 0) await USE.run(tx, { i: facts })
}

/** Facts that are older than they are kept, except entries that have not ended; and what was remembered of long ago. */
export async function pruneSignals(
  db: Db,
  keepMs: number,
  rememberMs: number,
  limit: number,
): Promise<number> {
  const before = (ms: string) => inMs(`-${ms}::float8`)
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
