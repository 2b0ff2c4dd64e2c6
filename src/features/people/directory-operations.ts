/** The directory: a page of people in one of three orders. */
import { z } from 'zod'
import {
  type Across,
  type Context,
  listQuery,
  operation,
  pageFrom,
  pageOf,
} from '../../api/contract.ts'
import { merged } from '../../api/shards.ts'
import type { Db } from '../../store/db.ts'
import {
  type Person,
  type Placed,
  peopleByDue,
  peopleByName,
  peopleBySeen,
  personFacts,
} from './directory-rows.ts'

const ORDERS = ['last_seen', 'next', 'name'] as const
type Order = (typeof ORDERS)[number]
const SEARCH_MAX = 128
/** Upper bound on search results, which are sorted in memory. */
const MATCHES_MAX = 200
/** Rows per index scan, and scans per page. */
const STEP = 200
const STEPS_MAX = 20
const WINDOW_MAX = 20_000

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const place = z.string().refine((text) => text === '' || INSTANT.test(text))

const person = z.object({
  user_id: z.string(),
  timezone: z.string().nullable().describe('Null while nobody knows it.'),
  last_seen_at: z.iso.datetime().nullable().describe('Their newest message to any agent.'),
  next_at: z.iso.datetime().nullable().describe('The next timer, alarm, timed intent or work.'),
  sessions: z.int(),
  paused_until: z.iso.datetime().nullable(),
})

function viewOf({ user_id, timezone, last_seen_at, next_at, sessions, paused_until }: Person) {
  return { user_id, timezone, last_seen_at, next_at, sessions, paused_until }
}

/** The instant (empty for none), then the tie breaker. */
type Place = readonly [string, string]
type At = Person & { readonly at: Place }

/** Compares two places. People without an instant come last, by name. */
function inOrder(order: Order): (a: readonly unknown[], b: readonly unknown[]) => number {
  const sign = order === 'last_seen' ? -1 : 1
  return ([a, aKey], [b, bKey]) => {
    if (a === b) return a === '' ? compare(aKey, bKey) : sign * compare(aKey, bKey)
    if (a === '' || b === '') return a === '' ? 1 : -1
    return sign * compare(a, b)
  }
}

const compare = (a: unknown, b: unknown) =>
  String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0

const mergedPeople: Across = (shards, ask, input) =>
  merged(inOrder((input.query as { order: Order }).order), shards, ask, input)

const listOp = operation({
  name: 'list_people',
  method: 'GET',
  path: '/v1/people',
  tag: 'People',
  summary: 'Everybody who has a session or a schedule here',
  description: `In the order of their newest message (last_seen), of what comes next for them (next), or by name; those without such an instant come last, by name. \`q\` finds ids that contain it, in any case: outside of order=name among the first ${MATCHES_MAX}. A page may hold fewer than it could: follow next_cursor. Keys of agents and users see their own person.`,
  query: listQuery({ max: 200, default: 50, cursor: z.tuple([place, z.string().max(400)]) }).extend(
    {
      q: z.string().min(1).max(SEARCH_MAX).optional(),
      order: z.enum(ORDERS).default('last_seen'),
    },
  ),
  across: mergedPeople,
  owner: 'caller',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(person),
  async run(ctx, { query }) {
    const { q = null, order, cursor = null, limit } = query
    const asked = { q, order, after: cursor, limit: limit + 1 }
    const { people, end } =
      ctx.actor.userId === null
        ? await read(ctx.db, asked)
        : { people: await own(ctx, ctx.actor.userId, q), end: null }
    return pageFrom(people, limit, { at: ({ at }) => [...at], view: viewOf, end })
  },
})

interface Asked {
  readonly q: string | null
  readonly order: Order
  readonly after: Place | null
  readonly limit: number
}

interface Read {
  readonly people: readonly At[]
  /** Where the next page starts although this one is not full. */
  readonly end: Place | null
}

async function own({ db }: Context, userId: string, q: string | null): Promise<At[]> {
  if (q !== null && !userId.toLowerCase().includes(q.toLowerCase())) return []
  const found = (await personFacts(db, [userId])).get(userId)
  return found === undefined ? [] : [{ ...found, at: ['', userId] }]
}

async function read(db: Db, asked: Asked): Promise<Read> {
  const { q, order, after, limit } = asked
  if (order === 'name') return byName(db, asked, limit, () => true)
  if (q !== null) return matches(db, asked)
  const timed = order === 'next' ? byNext : bySeen
  const { people: first, end } =
    after?.[0] === '' ? { people: [], end: null } : await timed(db, asked)
  if (first.length >= limit || end !== null) return { people: first, end }
  const rest = await byName(
    db,
    { ...asked, after: after?.[0] === '' ? after : null, limit: limit - first.length },
    STEP,
    (one) => (order === 'next' ? one.next_at : one.last_seen_at) === null,
  )
  return { people: [...first, ...rest.people], end: rest.end }
}

/** People by name, filtered. */
async function byName(
  db: Db,
  { q, after, limit }: Asked,
  size: number,
  wanted: (person: Person) => boolean,
): Promise<Read> {
  const people: At[] = []
  let last = after?.[1] ?? ''
  for (let step = 0; step < STEPS_MAX; step++) {
    const found = await peopleByName(db, { after: last, q, limit: size })
    const facts = await personFacts(db, ids(found))
    for (const { user_id } of found) {
      const one = facts.get(user_id)
      if (one !== undefined && wanted(one)) people.push({ ...one, at: ['', user_id] })
    }
    if (found.length < size || people.length >= limit)
      return { people: people.slice(0, limit), end: null }
    last = found.at(-1)?.user_id ?? last
  }
  return { people, end: ['', last] }
}

const ids = (found: readonly Placed[]) => found.map(({ user_id }) => user_id)

async function bySeen(db: Db, { after, limit }: Asked): Promise<Read> {
  const found = await peopleBySeen(db, { after, limit })
  const facts = await personFacts(db, ids(found))
  const people = found.flatMap(({ user_id, place, key }): At[] => {
    const one = facts.get(user_id)
    return one === undefined ? [] : [{ ...one, at: [place, key] }]
  })
  return { people, end: null }
}

/** People by their soonest schedule. */
async function byNext(db: Db, { after, limit }: Asked): Promise<Read> {
  const from = after?.[0] ?? null
  const isBehind = (at: Place) => after === null || inOrder('next')(at, after) > 0
  for (let size = limit * 2; ; size *= 4) {
    const windows = await peopleByDue(db, from, size)
    const cut = windows.flatMap((window) => (window.length === size ? window.slice(-1) : []))
    const floor = cut.map(({ place }) => place).sort()[0]
    const sure = windows.flat().filter(({ place }) => floor === undefined || place < floor)
    const soonest = new Map<string, string>()
    for (const { user_id, place } of sure.sort((a, b) => compare(a.place, b.place)))
      if (!soonest.has(user_id)) soonest.set(user_id, place)
    const seen = [...soonest].filter(([id, at]) => isBehind([at, id]))
    const people: At[] = []
    for (let from = 0; from < seen.length && people.length < limit; from += limit)
      people.push(...(await atTheirSoonest(db, seen.slice(from, from + limit))))
    const ordered = people.sort((a, b) => inOrder('next')(a.at, b.at)).slice(0, limit)
    if (ordered.length >= limit || floor === undefined) return { people: ordered, end: null }
    if (size >= WINDOW_MAX) return { people: ordered, end: [floor, ''] }
  }
}

/** Drops people whose soonest schedule lies before this page: an earlier page has listed them. */
async function atTheirSoonest(db: Db, seen: readonly (readonly [string, string])[]): Promise<At[]> {
  const facts = await personFacts(
    db,
    seen.map(([id]) => id),
  )
  return seen.flatMap(([id, at]): At[] => {
    const one = facts.get(id)
    return one?.next_text === at ? [{ ...one, at: [at, id] }] : []
  })
}

/** Search results, sorted in memory. */
async function matches(db: Db, { q, order, after, limit }: Asked): Promise<Read> {
  const found = await peopleByName(db, { after: '', q, limit: MATCHES_MAX })
  const facts = await personFacts(db, ids(found))
  const all = [...facts.values()].map((one): At => {
    const at = order === 'next' ? one.next_text : (one.last_seen_at?.toISOString() ?? null)
    return { ...one, at: [at?.replace(/\.(\d{3})Z$/, '.$1000Z') ?? '', one.user_id] }
  })
  const first = inOrder(order)
  const people = all
    .filter(({ at }) => after === null || first(at, after) > 0)
    .sort((a, b) => first(a.at, b.at))
  return { people: people.slice(0, limit), end: null }
}

export const directory = [listOp]
