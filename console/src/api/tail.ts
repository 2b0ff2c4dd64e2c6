/**
 * The end of a list that the server only reads from its beginning. The first look walks there page by
 * page; later looks start at the last two pages known, since rows there may still change.
 */
import { request } from './http.ts'
import type { Page } from './shapes.ts'

const PAGE_ROWS = 500
/** Pages kept, and looked at again each time. */
const PAGES_KEPT = 2
/** A first look gives up after this many; the newest rows are then missing, and the page says so. */
const PAGES_MAX = 40

export interface Tail<T> {
  readonly pages: readonly { readonly cursor: string | null; readonly rows: readonly T[] }[]
  readonly complete: boolean
}

export async function readTail<T>(
  path: string,
  before: Tail<T> | undefined,
  signal: AbortSignal,
): Promise<Tail<T>> {
  const pages: Tail<T>['pages'][number][] = []
  let cursor = before?.pages[0]?.cursor ?? null
  for (let count = 0; count < PAGES_MAX; count++) {
    const from = cursor === null ? '' : `&cursor=${cursor}`
    const page: Page<T> = await request(`${path}?limit=${PAGE_ROWS}${from}`, { signal })
    pages.push({ cursor, rows: page.data })
    if (pages.length > PAGES_KEPT) pages.shift()
    cursor = page.next_cursor
    if (cursor === null) return { pages, complete: true }
  }
  return { pages, complete: false }
}

export function rowsOf<T>(tail: Tail<T>): T[] {
  return tail.pages.flatMap((page) => page.rows)
}
