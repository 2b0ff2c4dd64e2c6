/** Counts what happened, by local day and by trigger. Pure: rows in, figures out. */
import type { TriggerKind } from '../../../../src/features/ledger/rules.ts'
import { dateText } from '../../../schedule/src/calendar.ts'
import { localDay, zoneOf } from '../../../schedule/src/zone.ts'

export const KINDS = ['alarm', 'timer', 'intent', 'work'] as const
export type Kind = TriggerKind

/** One event from a trigger, and its outcome. */
export interface Fire {
  readonly kind: Kind
  /** The same for all fires of one trigger. */
  readonly trigger: string
  readonly at: Date
  readonly delivered: number
  readonly undelivered: number
  readonly lost: number
  /** Rules that blocked messages. */
  readonly heldBack: readonly string[]
  /** Why its turn failed for good; null when it did not. */
  readonly error: string | null
}

export interface Counts {
  fired: Record<Kind, number>
  delivered: number
  undelivered: number
  lost: number
  heldBack: number
  failed: number
}

export interface Tally {
  readonly total: Counts
  /** Every local day of the span, including empty ones. */
  readonly days: readonly { readonly day: string; readonly counts: Counts }[]
  /** Most fires first. */
  readonly triggers: readonly {
    readonly trigger: string
    readonly kind: Kind
    readonly counts: Counts
  }[]
  /** Most frequent first. */
  readonly rules: readonly { readonly rule: string; readonly times: number }[]
}

function nothing(): Counts {
  return {
    fired: { alarm: 0, timer: 0, intent: 0, work: 0 },
    delivered: 0,
    undelivered: 0,
    lost: 0,
    heldBack: 0,
    failed: 0,
  }
}

export function firedOf(counts: Counts): number {
  return KINDS.reduce((sum, kind) => sum + counts.fired[kind], 0)
}

function add(counts: Counts, fire: Fire): void {
  counts.fired[fire.kind]++
  counts.delivered += fire.delivered
  counts.undelivered += fire.undelivered
  counts.lost += fire.lost
  counts.heldBack += fire.heldBack.length
  if (fire.error !== null) counts.failed++
}

export function tally(fires: readonly Fire[], from: Date, to: Date, timezone: string): Tally {
  const zone = zoneOf(timezone)
  const first = localDay(zone, from.getTime())
  const last = localDay(zone, to.getTime())
  const days = Array.from({ length: last - first + 1 }, (_, index) => ({
    day: dateText(first + index),
    counts: nothing(),
  }))
  const total = nothing()
  const triggers = new Map<string, { trigger: string; kind: Kind; counts: Counts }>()
  const rules = new Map<string, number>()
  for (const fire of fires) {
    add(total, fire)
    const day = days[localDay(zone, fire.at.getTime()) - first]
    if (day !== undefined) add(day.counts, fire)
    const key = `${fire.kind} ${fire.trigger}`
    const one = triggers.get(key) ?? { trigger: fire.trigger, kind: fire.kind, counts: nothing() }
    triggers.set(key, one)
    add(one.counts, fire)
    for (const rule of fire.heldBack) rules.set(rule, (rules.get(rule) ?? 0) + 1)
  }
  return {
    total,
    days,
    triggers: [...triggers.values()].sort(
      (a, b) => firedOf(b.counts) - firedOf(a.counts) || (a.trigger < b.trigger ? -1 : 1),
    ),
    rules: [...rules]
      .map(([rule, times]) => ({ rule, times }))
      .sort((a, b) => b.times - a.times || (a.rule < b.rule ? -1 : 1)),
  }
}
