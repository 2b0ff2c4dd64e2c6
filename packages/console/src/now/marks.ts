/** The timeline as data: a window of time, marks in it, and marks too close to tell apart drawn as one. Pure. */
import { KINDS, type Kind, type LedgerEntry, latenessMs } from '../api/ledger.ts'
import type { Overview } from '../api/overview.ts'
import { sessionAddress } from '../session/key.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const SPANS = {
  hour: { label: 'Hour', pastMs: 15 * MINUTE, aheadMs: HOUR, tickMs: 15 * MINUTE },
  day: { label: 'Day', pastMs: 6 * HOUR, aheadMs: DAY, tickMs: 6 * HOUR },
  week: { label: 'Week', pastMs: 2 * DAY, aheadMs: 7 * DAY, tickMs: DAY },
} as const
export type Span = keyof typeof SPANS

export interface Mark {
  readonly key: string
  readonly kind: Kind
  readonly at: number
  readonly name: string
  readonly who: string
  /** Where one reads more. */
  readonly href: string
  /** To come: its slot. Been: what became of it. */
  readonly past: LedgerEntry | null
  readonly repeats: boolean
  readonly checks: boolean
}

export interface Cluster {
  readonly kind: Kind
  /** From 0 to 1 across the window. */
  readonly place: number
  readonly marks: readonly Mark[]
  readonly look: 'coming' | 'check' | 'good' | 'quiet' | 'held' | 'failed'
}

export function upcomingMarks(overview: Overview): Mark[] {
  return KINDS.flatMap((kind) =>
    overview.lanes[kind].slots.map((slot) => ({
      key: `${slot.trigger_id}@${slot.at}`,
      kind,
      at: Date.parse(slot.at),
      name: slot.name,
      who: slot.user_id,
      href: addressOf(kind, slot.trigger_id, slot.session_key),
      past: null,
      repeats: slot.repeats,
      checks: slot.checks === true,
    })),
  )
}

export function pastMarks(entries: readonly LedgerEntry[]): Mark[] {
  return entries.flatMap((entry) => {
    const { kind, id, name } = entry.trigger
    // Open ones have a list of their own.
    if (kind === 'question') return []
    const mark = { key: entry.id, kind, name, who: entry.user_id, past: entry }
    const href = addressOf(kind, id, entry.session_key)
    return [{ ...mark, href, at: Date.parse(entry.at), repeats: false, checks: false }]
  })
}

export function addressOf(kind: Kind, id: string | null, sessionKey?: string): string {
  if (kind === 'timer') return sessionKey === undefined ? '/sessions' : sessionAddress(sessionKey)
  const list = kind === 'work' ? '/work' : `/${kind}s`
  return id === null ? list : `${list}/${id}`
}

type Look = Cluster['look']
/** The worst of a cluster is what it looks like. */
const LOOKS: readonly Look[] = ['failed', 'held', 'good', 'quiet', 'coming', 'check']

export function lookOf({ past, checks }: Mark): Look {
  if (past === null) return checks ? 'check' : 'coming'
  if (past.outcome === 'failed') return 'failed'
  if (past.outcome === 'suppressed' || past.outcome === 'postponed' || past.outcome === 'deferred')
    return 'held'
  return past.outcome === 'delivered' || past.outcome === 'sent' ? 'good' : 'quiet'
}

export interface Window {
  readonly from: number
  readonly now: number
  readonly to: number
}

/**
 * Marks of one lane within the window, those closer than `apart` (a share of it) as one. What has been and what will be are
 * never one, and stand on their own side of now however close they are to it.
 */
export function clustered(
  marks: readonly Mark[],
  kind: Kind,
  { from, now, to }: Window,
  apart: number,
): Cluster[] {
  const own = marks.filter((mark) => mark.kind === kind && mark.at >= from && mark.at <= to)
  const placeOf = (at: number) => (at - from) / (to - from)
  const been = own.filter(({ past }) => past !== null)
  const coming = own.filter(({ past }) => past === null)
  return [
    ...gathered(been, apart, ({ at }) => Math.min(placeOf(at), placeOf(now) - apart / 2)),
    ...gathered(coming, apart, ({ at }) => Math.max(placeOf(at), placeOf(now) + apart / 2)),
  ].map(({ place, marks }) => {
    const looks = new Set(marks.map(lookOf))
    return { kind, place, marks, look: LOOKS.find((look) => looks.has(look)) ?? 'quiet' }
  })
}

function gathered(marks: readonly Mark[], apart: number, placeOf: (mark: Mark) => number) {
  const groups: { place: number; marks: Mark[] }[] = []
  for (const mark of [...marks].sort((a, b) => a.at - b.at)) {
    const place = placeOf(mark)
    const last = groups.at(-1)
    if (last !== undefined && place - last.place < apart) last.marks.push(mark)
    else groups.push({ place, marks: [mark] })
  }
  return groups
}

/** Round instants of the reader's own clock to write beneath the lanes. */
export function ticks(from: number, to: number, tickMs: number): number[] {
  const midnight = new Date(from).setHours(0, 0, 0, 0)
  const first = midnight + Math.ceil((from - midnight) / tickMs) * tickMs
  const found: number[] = []
  for (let at = first; at <= to; at += tickMs) found.push(at)
  return found
}

/** "2.1 s late", or nothing where nobody would notice. */
export function lateWords(entry: LedgerEntry, lasting: (ms: number) => string): string {
  const late = latenessMs(entry)
  return late < 1_000 ? 'on time' : `${lasting(late)} late`
}
