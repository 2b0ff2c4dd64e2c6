/** What comes due, day by day on one clock; what recurs within a day is one line. Pure. */
import { KINDS, type Kind, type LedgerEntry } from '../api/ledger.ts'
import type { Overview } from '../api/overview.ts'
import { dayIn } from '../parts/time.ts'
import { pageOf } from './schedule.ts'

export interface Occurrence {
  readonly key: string
  readonly trigger: string
  readonly kind: Kind
  readonly name: string
  readonly user: string
  readonly agent: string | null
  readonly at: string
  /** Null: it is still to come. */
  readonly outcome: string | null
  /** Of a forecast: what would be said, or why not. */
  readonly words?: string
  readonly href: string
}

export interface Line {
  /** The one it shows: the next to come, or the newest. */
  readonly shown: Occurrence
  readonly count: number
  readonly last: string
  readonly failed: number
}

export interface Day {
  readonly day: string
  readonly lines: readonly Line[]
}

/** A look at a condition is nothing that happens. */
const isAct = ({ checks }: { readonly checks?: boolean }) => checks !== true

export function upcoming(overview: Overview | undefined): Occurrence[] {
  if (overview === undefined) return []
  return KINDS.flatMap((kind) =>
    overview.lanes[kind].slots.filter(isAct).map((slot) => ({
      key: `${slot.trigger_id}@${slot.at}`,
      trigger: slot.trigger_id,
      kind,
      name: slot.name,
      user: slot.user_id,
      agent: slot.by,
      at: slot.at,
      outcome: null,
      href: pageOf(kind, slot.trigger_id),
    })),
  )
}

export function past(entries: readonly LedgerEntry[]): Occurrence[] {
  return entries.flatMap((entry) => {
    const { kind, id, name } = entry.trigger
    if (kind === 'question') return []
    return [
      {
        key: entry.id,
        trigger: id ?? `${kind} ${name}`,
        kind,
        name,
        user: entry.user_id,
        agent: entry.session_key?.split(':')[1] ?? null,
        at: entry.scheduled_for,
        outcome: entry.outcome,
        words: entry.words,
        href: `/activity/${encodeURIComponent(entry.id)}`,
      },
    ]
  })
}

/** In the order of time; what comes due several times a day is folded into one line. */
export function daysOf(occurrences: readonly Occurrence[], zone: string): Day[] {
  const days = new Map<string, Map<string, Occurrence[]>>()
  for (const each of [...occurrences].sort((a, b) => (a.at < b.at ? -1 : 1))) {
    const day = dayIn(each.at, zone)
    const lines = days.get(day) ?? new Map<string, Occurrence[]>()
    days.set(day, lines)
    const line = `${each.outcome === null ? 'ahead' : 'past'} ${each.trigger}`
    lines.set(line, [...(lines.get(line) ?? []), each])
  }
  return [...days].map(([day, lines]) => ({ day, lines: [...lines.values()].flatMap(lineOf) }))
}

function lineOf(all: readonly Occurrence[]): Line[] {
  const [first] = all
  const last = all.at(-1)
  if (first === undefined || last === undefined) return []
  const failed = all.filter(({ outcome }) => outcome === 'failed')
  const shown = first.outcome === null ? first : (failed.at(-1) ?? last)
  return [{ shown, count: all.length, last: last.at, failed: failed.length }]
}
