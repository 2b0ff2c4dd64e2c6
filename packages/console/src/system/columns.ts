/** Activity as columns of a plot: one for each hour of the day, one for each day of the week. Pure. */
import type { Activity } from '../api/activity.ts'
import { KINDS, type Kind } from '../api/ledger.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
const WEEK_DAYS = 7

export interface Column<Part extends string> {
  readonly key: string
  /** When it begins. */
  readonly at: number
  readonly parts: Readonly<Partial<Record<Part, number>>>
  readonly total: number
}

export interface HourColumn extends Column<Kind> {
  readonly late: number
  readonly worstMs: number
}

/** Every hour of the last day, also those in which nothing was due. */
export function dayOf({ now, slots }: Pick<Activity, 'now' | 'slots'>): HourColumn[] {
  const last = Math.floor(Date.parse(now) / HOUR_MS)
  return Array.from({ length: DAY_HOURS }, (_, index) => {
    const at = (last - DAY_HOURS + 1 + index) * HOUR_MS
    const here = slots.filter((each) => Date.parse(each.at) === at)
    const parts: Partial<Record<Kind, number>> = {}
    for (const { kind, slots: count } of here) parts[kind] = (parts[kind] ?? 0) + count
    return {
      key: String(at),
      at,
      parts,
      total: sum(Object.values(parts)),
      late: sum(here.map(({ late }) => late)),
      worstMs: Math.max(0, ...here.map(({ worst_ms }) => worst_ms)),
    }
  })
}

/** Every day of the last week by the reader's own calendar. */
export function weekOf({ now, held }: Pick<Activity, 'now' | 'held'>): Column<string>[] {
  const today = new Date(now)
  return Array.from({ length: WEEK_DAYS }, (_, index) => {
    const back = WEEK_DAYS - 1 - index
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - back)
    const next = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1)
    const parts: Record<string, number> = {}
    for (const { at, rule, messages } of held) {
      const then = Date.parse(at)
      if (then >= day.getTime() && then < next.getTime())
        parts[rule] = (parts[rule] ?? 0) + messages
    }
    return { key: day.toISOString(), at: day.getTime(), parts, total: sum(Object.values(parts)) }
  })
}

/** The kinds or rules that occur at all, in their order. */
export function partsOf<Part extends string>(
  columns: readonly Column<Part>[],
  order: readonly Part[],
): Part[] {
  const seen = new Set(columns.flatMap(({ parts }) => Object.keys(parts) as Part[]))
  return [...order.filter((part) => seen.has(part)), ...[...seen].filter((p) => !order.includes(p))]
}

export const DAY_PARTS = KINDS

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}

/** A round number at or above the largest: the top of a scale. */
export function topOf(values: readonly number[], least = 1): number {
  const most = Math.max(least, ...values)
  const step = 10 ** Math.floor(Math.log10(most))
  const factor = [1, 2, 5, 10].find((each) => each * step >= most) ?? 10
  return factor * step
}

/** Where a duration stands between a millisecond and an hour, each ten times as long as the one below. */
export function heightOf(ms: number): number {
  return Math.min(1, Math.max(0, Math.log10(Math.max(1, ms)) / Math.log10(HOUR_MS)))
}

/** How much longer it will take at this pace; null while nothing can be said. */
export function leftMs(startedAt: string | null, progress: number | null, now: number) {
  if (startedAt === null || progress === null || progress <= 0.02 || progress >= 1) return null
  const spent = now - Date.parse(startedAt)
  return spent <= 0 ? null : (spent / progress) * (1 - progress)
}
