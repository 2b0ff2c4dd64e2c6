/** Reads the rows of one session, from the newest back. */
import { request } from '../api/http.ts'
import type { Effect, Page, SessionEvent, SessionHead, Turn } from '../api/shapes.ts'
import { firstPart, type Part } from './joining.ts'

/** Events of the newest part, and of one step back. The newest is read whenever something happened: a few screens of it. */
const NEWEST_EVENTS = 50
const OLDER_EVENTS = 200
const PAGE_ROWS = 500
/** What the newest events have led to as a rule: a turn each, and seldom more than two effects. */
const FIRST_TURNS = 60
const FIRST_EFFECTS = 100
/** Of one part's turns and effects: an event has seldom more than a few. */
const PAGES_MAX = 10

export async function readHead(path: string, signal: AbortSignal): Promise<SessionHead> {
  return request<SessionHead>(path, { signal })
}

export function readNewest(path: string, signal: AbortSignal): Promise<Part> {
  return readPart(path, '', NEWEST_EVENTS, signal)
}

/**
 * The newest part for a page that shows nothing yet: turns and effects are asked for before it is known of which events, so
 * that all comes after one round trip. What is missing then is read as it always is.
 */
export async function readFirst(path: string, signal: AbortSignal): Promise<Part> {
  const newest = <T>(rows: string, limit: number) =>
    request<Page<T>>(`${path}/${rows}?order=desc&limit=${limit}`, { signal })
  const [events, turns, effects] = await Promise.all([
    newest<SessionEvent>('events', NEWEST_EVENTS),
    newest<Turn>('turns', FIRST_TURNS),
    newest<Effect>('effects', FIRST_EFFECTS),
  ])
  return firstPart(events, turns, effects) ?? readNewest(path, signal)
}

/** What came before an event. */
export function readOlder(path: string, seq: number, signal: AbortSignal): Promise<Part> {
  return readPart(path, `&before_seq=${seq}`, OLDER_EVENTS, signal)
}

async function readPart(
  path: string,
  bound: string,
  limit: number,
  signal: AbortSignal,
): Promise<Part> {
  const { data, next_cursor: next } = await request<Page<SessionEvent>>(
    `${path}/events?order=desc&limit=${limit}${bound}`,
    { signal },
  )
  const events = data.toReversed()
  const after = (events[0]?.seq ?? 1) - 1
  const [turns, effects] = await Promise.all([
    readAll<Turn>(`${path}/turns?after_seq=${after}${bound}`, signal),
    readAll<Effect>(`${path}/effects?after_seq=${after}${bound}`, signal),
  ])
  return { events, turns, effects, whole: next === null }
}

async function readAll<T>(path: string, signal: AbortSignal): Promise<T[]> {
  const rows: T[] = []
  let cursor: string | null = ''
  for (let pages = 0; cursor !== null && pages < PAGES_MAX; pages++) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`
    const page: Page<T> = await request(`${path}&limit=${PAGE_ROWS}${from}`, { signal })
    rows.push(...page.data)
    cursor = page.next_cursor
  }
  return rows
}
