/**
 * Which shard an operation is about. One person's rows are all in one shard, so whatever names a person is asked of that shard alone.
 * Only those who may reach everybody can leave that open: then a thing is asked for by its id in all of them, and lists are read
 * in all of them and made one. No transaction spans two shards.
 */
import { Refusal } from '../core/errors.ts'
import { LOCAL_USER } from '../core/session.ts'
import type { Across, Answer, Context, Input, Operation } from './contract.ts'
import { cursorOf, decodeCursor, type Page, type Place } from './lists.ts'
import { ownerFor } from './owner.ts'

type Run = (op: Operation, ctx: Context, input: Input) => Promise<Answer>

/** Runs `run` where the operation belongs. */
export function inShard(op: Operation, asked: Context, input: Input, run: Run): Promise<Answer> {
  const owner = ownerFor(op, asked.actor, input)
  const ctx = { ...asked, owner }
  const { shards } = ctx
  if (shards === undefined) return run(op, ctx, input)
  const within = async (number: number, part = input) => run(op, shards.within(ctx, number), part)
  if (owner !== null) return within(shards.ofUser(owner))
  if (op.across !== undefined) return op.across(shards.count, within, input)
  if (op.owner === 'nobody') return within(0)
  if (op.owner === 'row') return firstOf(shards.count, within, op.method === 'GET' ? 0 : STILL_MS)
  return within(op.method === 'GET' ? 0 : shards.ofUser(LOCAL_USER))
}

/** The context of one person's shard. */
export function contextOf(ctx: Context, userId: string): Context {
  return ctx.shards === undefined ? ctx : ctx.shards.within(ctx, ctx.shards.ofUser(userId))
}

/** Asks every shard for one thing; null where none knows it. One that is away may be the one: then nobody can say. */
export async function inAnyShard<T>(
  ctx: Context,
  find: (ctx: Context) => Promise<T | null>,
): Promise<T | null> {
  const { shards, actor } = ctx
  if (shards === undefined) return find(ctx)
  if (actor.userId !== null) return find(contextOf(ctx, actor.userId))
  return firstOf(shards.count, async (number) => {
    const one = await find(shards.within(ctx, number))
    if (one === null) throw new Refusal('not_found', 'not in this shard')
    return one
  }).catch((error: unknown) => {
    if (isUnknown(error)) return null
    throw error
  })
}

/** How long an answer waits for the shards that do not know the thing: their transactions are over, unless one is away. */
const STILL_MS = 1_000

/**
 * The answer of the one that knows it, as soon as it is there and the others are still; else what stands in the way of an answer;
 * else that nobody does.
 */
async function firstOf<T>(
  count: number,
  ask: (number: number) => Promise<T>,
  stillMs = 0,
): Promise<T> {
  const asked = Array.from({ length: count }, (_, number) => ask(number))
  const known = asked.map((each) =>
    each.catch((error: unknown) => {
      // A refusal of the one that knows it is its answer.
      if (error instanceof Refusal && error.code !== 'not_found' && error.code !== 'unavailable')
        return Promise.resolve(new Refused(error))
      throw error
    }),
  )
  try {
    const first = await Promise.any(known)
    if (stillMs > 0) await within(stillMs, Promise.allSettled(asked))
    if (first instanceof Refused) throw first.refusal
    return first
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error
    const all = error.errors as unknown[]
    throw all.find((each) => !isUnknown(each)) ?? all[0]
  }
}

async function within(ms: number, waited: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const enough = new Promise((done) => {
    timer = setTimeout(done, ms)
  })
  await Promise.race([waited, enough])
  clearTimeout(timer)
}

class Refused {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    this.refusal = refusal
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'not_found'
}

/**
 * Pages of all shards as one. All are ordered by the same key, so one cursor says the place in each. Rows behind the end of a page
 * that has more behind it wait for the next one.
 */
export const mergedPages: Across = (shards, ask, input) => merged(byPlace, shards, ask, input)

/** The same of lists whose places ascend. */
export const mergedSoonest: Across = (shards, ask, input) =>
  merged((a, b) => byPlace(b, a), shards, ask, input)

/** `order`: which of two places comes first, as a comparison. */
export async function merged(
  order: typeof byPlace,
  shards: number,
  ask: Parameters<Across>[1],
  { query }: Input,
): Promise<Answer> {
  const limit = (query as { limit: number }).limit
  const answers = await everywhere(shards, ask)
  const rows = answers.flatMap(({ body, places = [] }) =>
    (body as Page<unknown>).data.map((row, index) => ({ row, place: places[index] ?? [] })),
  )
  const ends = answers.flatMap(({ body }) => {
    const { next_cursor: next } = body as Page<unknown>
    return next === null ? [] : [decodeCursor(next) as Place]
  })
  const [end] = ends.toSorted(order)
  const sure = rows
    .toSorted((a, b) => order(a.place, b.place))
    .filter(({ place }) => end === undefined || order(place, end) <= 0)
  const shown = sure.slice(0, limit)
  const next = sure.length > limit ? (shown.at(-1)?.place ?? null) : (end ?? null)
  return { body: { data: shown.map(({ row }) => row), next_cursor: cursorOf(next) } }
}

/** All of them, or the reason why one does not answer: a part would look like the whole. */
export function everywhere(
  shards: number,
  ask: (number: number) => Promise<Answer>,
): Promise<Answer[]> {
  return Promise.all(Array.from({ length: shards }, (_, number) => ask(number)))
}

function byPlace(a: Place, b: Place): number {
  for (const [index, mine] of a.entries()) {
    const other = b[index] ?? mine
    if (mine !== other) return mine < other ? 1 : -1
  }
  return 0
}

interface Stretch {
  readonly limit: number
  readonly offset: number
}

/** Plain arrays of all shards as one, by the instant of that name. */
export function mergedArrays(by: string, first: 'newest' | 'soonest'): Across {
  const sign = first === 'soonest' ? 1 : -1
  return async (shards, ask, input) => {
    const { limit, offset } = input.query as Stretch
    const query = { ...(input.query as Stretch), limit: offset + limit, offset: 0 }
    const answers = await everywhere(shards, (number) => ask(number, { ...input, query }))
    const rows = answers.flatMap(({ body }) => body as readonly Readonly<Record<string, unknown>>[])
    const ordered = rows
      .map((row) => ({ row, at: new Date(row[by] as Date).getTime(), id: String(row.id) }))
      .sort((a, b) => sign * (a.at - b.at || (a.id < b.id ? -1 : 1)))
    return { body: ordered.slice(offset, offset + limit).map(({ row }) => row) }
  }
}
