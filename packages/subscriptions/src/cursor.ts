/**
 * How far what happened was told. Rows carry the time of their transaction and are seen only when that has committed, maybe
 * after later ones: so a cursor does not say "after this row" but "from this instant on, except these", and the instant
 * lies a minute back. Pure.
 */

/** A transaction that takes longer than this to commit may be missed. */
const WINDOW_MS = 60_000
/** With more told within a window the window is shorter, so that a cursor stays short. */
const TOLD_MAX = 200
/** A cursor of a subscription that nothing happens to moves on this often. */
const IDLE_MS = 300_000
const TEXT_MAX = 32_768

export interface Cursor {
  readonly fromMs: number
  /** Told already: ids, and when they happened. */
  readonly told: readonly (readonly [id: string, atMs: number])[]
}

/** Where somebody begins who was told nothing yet. */
export function cursorAt(now: Date): Cursor {
  return { fromMs: now.getTime(), told: [] }
}

/** A clock that was ahead has moved the cursor past now: read from now on, or nothing is told until then. */
export function notAhead(cursor: Cursor, now: Date): Cursor {
  return cursor.fromMs > now.getTime() ? { ...cursor, fromMs: now.getTime() } : cursor
}

export interface Looked {
  /** Whatever was found is told from here on. Oldest first. */
  readonly found: readonly { readonly id: string; readonly at: Date }[]
  /** There was more than was read. */
  readonly more: boolean
  readonly now: Date
}

/** Where the next look begins. */
export function advance(cursor: Cursor, { found, more, now }: Looked): Cursor {
  const last = found.at(-1)?.at.getTime() ?? cursor.fromMs
  const readTo = Math.min(now.getTime(), more ? last : Number.POSITIVE_INFINITY)
  const fromMs = Math.max(cursor.fromMs, readTo - WINDOW_MS)
  const told = [...cursor.told, ...found.map(({ id, at }) => [id, at.getTime()] as const)]
    .filter(([, atMs]) => atMs >= fromMs)
    .sort(([, a], [, b]) => a - b)
  if (told.length <= TOLD_MAX) return { fromMs, told }
  const kept = told.slice(-TOLD_MAX)
  return { fromMs: kept[0]?.[1] ?? fromMs, told: kept }
}

/** Right behind a delivered event, for readers that resume there. */
export function cursorBehind({ id, at }: { readonly id: string; readonly at: Date }): Cursor {
  return { fromMs: at.getTime(), told: [[id, at.getTime()]] }
}

/** Worth writing down although nothing was found: else the next look would read far back. */
export function isOld(cursor: Cursor, now: Date): boolean {
  return now.getTime() - cursor.fromMs > IDLE_MS
}

/** No older than asked; and whether that left something out, which nobody looks up. */
export function within(
  cursor: Cursor,
  maxAgeMs: number | null,
  now: Date,
): { readonly cursor: Cursor; readonly truncated: boolean } {
  const oldest = maxAgeMs === null ? Number.NEGATIVE_INFINITY : now.getTime() - maxAgeMs
  if (cursor.fromMs >= oldest) return { cursor, truncated: false }
  return { cursor: { ...cursor, fromMs: oldest }, truncated: true }
}

export function writeCursor({ fromMs, told }: Cursor): string {
  const short = told.map(([id, atMs]) => [id.replaceAll('-', ''), atMs - fromMs])
  return Buffer.from(JSON.stringify([fromMs, ...short])).toString('base64url')
}

const ID = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** Null for a malformed one: cursors come from callers. */
export function readCursor(text: string): Cursor | null {
  if (text.length > TEXT_MAX || !/^[\w-]+$/.test(text)) return null
  const [fromMs, ...told] = parsed(text)
  if (!isInstant(fromMs) || told.length > TOLD_MAX) return null
  const read = told.map((each) => readTold(each, fromMs))
  return read.every((each) => each !== null) ? { fromMs, told: read } : null
}

function readTold(each: unknown, fromMs: number): readonly [string, number] | null {
  const [short, afterMs] = Array.isArray(each) ? each : []
  const parts = typeof short === 'string' ? ID.exec(short)?.slice(1) : undefined
  const atMs = typeof afterMs === 'number' ? fromMs + afterMs : null
  return parts !== undefined && isInstant(atMs) ? [parts.join('-'), atMs] : null
}

function parsed(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** Of the years that PostgreSQL and JavaScript both know. */
const isInstant = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Math.abs(value as number) < 253_402_300_800_000
