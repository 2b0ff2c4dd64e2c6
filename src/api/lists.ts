/** What all lists share: `limit`, an opaque `cursor`, and the page they answer with. */
import { z } from 'zod'
import type { Db } from '../store/db.ts'
import { type PageQuery, readPage, type Table } from '../store/page.ts'

const CURSOR_CHARACTERS_MAX = 1024

/** Where the next page begins: the sort key of the last row shown, text from the database. */
const timeCursor = z.tuple([z.iso.datetime({ offset: true }), z.uuid()])

interface Limits<C extends z.ZodType> {
  readonly max: number
  readonly default: number
  /** What a cursor holds; `[instant, id]` if not said. Checked, since anybody can write one. */
  readonly cursor?: C
}

/** The query of a list. Spread its `.shape`, or `.extend()` it with filters. */
export function listQuery<C extends z.ZodType = typeof timeCursor>(limits: Limits<C>) {
  const inner = (limits.cursor ?? timeCursor) as C
  return z.object({ limit: limitField(limits), cursor: cursorField(inner) })
}

/** Not a positive integer is an error; more than the maximum is the maximum. */
function limitField(limits: { max: number; default: number }) {
  const error = `must be a whole number from 1 to ${limits.max}`
  return z
    .unknown()
    .transform((value, ctx) => {
      const number = wholeNumber(value)
      if (number >= 1) return Math.min(number, limits.max)
      ctx.addIssue({ code: 'custom', message: error })
      return z.NEVER
    })
    .prefault(limits.default)
    .meta({ type: 'integer', minimum: 1, description: `At most ${limits.max}.` })
}

/** Zero for anything else. Digits beyond any number become Infinity, which is above every maximum. */
function wholeNumber(value: unknown): number {
  if (typeof value === 'number') return Number.isInteger(value) ? value : 0
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : 0
}

function cursorField<C extends z.ZodType>(inner: C) {
  return z
    .string()
    .transform((text, ctx): z.output<C> => {
      const parsed = inner.safeParse(decodeCursor(text))
      if (parsed.success) return parsed.data
      ctx.addIssue({ code: 'custom', message: 'must be a next_cursor that a list answered with' })
      return z.NEVER
    })
    .optional()
    .meta({ description: 'The next_cursor of the page before.' })
}

/** Null where there is nothing more. */
export function cursorOf(position: readonly unknown[] | null): string | null {
  return position === null ? null : Buffer.from(JSON.stringify(position)).toString('base64url')
}

export function decodeCursor(text: string): unknown {
  if (text.length > CURSOR_CHARACTERS_MAX || !/^[\w-]+$/.test(text)) return undefined
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString())
  } catch {
    return undefined
  }
}

export interface Page<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
}

/** `next` is the position of the last row if there are more, else null. */
export function page<T>(data: readonly T[], next: readonly unknown[] | null): Page<T> {
  return { data, next_cursor: cursorOf(next) }
}

/** The sort key of a row, as its cursor holds it: newest, then last by name, first. */
export type Place = readonly (string | number)[]

/**
 * One page of rows that were read in their order, one more than shown, with where each of them stands. `end` is where the next page
 * begins although nothing more was read.
 */
export function pageFrom<R, V>(
  rows: readonly R[],
  limit: number,
  { at, view, end = null }: { at: (row: R) => Place; view: (row: R) => V; end?: Place | null },
) {
  const shown = rows.slice(0, limit)
  const places = shown.map(at)
  const next = rows.length > limit ? (places.at(-1) ?? null) : end
  return { body: page(shown.map(view), next), places }
}

/** A page of a table, newest first. */
export async function newestOf<R extends object & { readonly id: string }, V>(
  db: Db,
  table: Table<R>,
  { limit, cursor }: { limit: number; cursor?: readonly [string, string] | undefined },
  which: Pick<PageQuery, 'owner' | 'where'>,
  view: (row: R) => V,
) {
  const rows = await readPage(db, table, { ...which, after: cursor, limit: limit + 1 })
  return newestPage(rows, limit, (row) => view(row as unknown as R))
}

/** The same of rows that were read newest first. */
export function newestPage<R extends { readonly created_text: string; readonly id: string }, V>(
  rows: readonly R[],
  limit: number,
  view: (row: Omit<R, 'created_text'>) => V,
  end: Place | null = null,
) {
  return pageFrom(rows, limit, {
    at: (row): [string, string] => [row.created_text, row.id],
    view: ({ created_text: _, ...row }) => view(row),
    end,
  })
}

export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ data: z.array(item), next_cursor: z.string().nullable() })
}

/** A query holds words; other doors hand in what they mean. */
export const flag = z.union(
  [z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')],
  { error: 'must be true or false' },
)
