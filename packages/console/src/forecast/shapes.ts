/** What a forecast tells, and what of it is known at an instant of it. Pure. */
import type { LedgerEntry, Outcome } from '../api/ledger.ts'
import { addressOf, type Mark } from '../now/marks.ts'

export interface Counts {
  readonly said: number
  readonly deferred: number
  readonly gathered: number
  readonly dropped: number
}

export interface Occurrence
  extends Pick<
    LedgerEntry,
    'id' | 'at' | 'scheduled_for' | 'outcome' | 'words' | 'reason' | 'missed_count' | 'session_key'
  > {
  readonly trigger: LedgerEntry['trigger'] & { readonly draft: boolean }
  readonly said_at: string | null
  readonly text?: string
  readonly deferred?: {
    readonly rule: string
    readonly from: string
    readonly until: string | null
  }
  readonly gathered?: { readonly into: string; readonly together: number }
}

export interface Forecast {
  readonly user_id: string
  readonly timezone: string
  readonly from: string
  readonly to: string
  readonly occurrences: readonly Occurrence[]
  readonly totals: Counts
  readonly by_day: readonly ({ readonly day: string } & Counts)[]
  readonly cut: { readonly why: string; readonly busiest: { readonly name: string } | null } | null
  readonly notes: readonly string[]
}

/** What has been by then looks like what came of it; the rest is still to come. */
export function marksAt({ user_id, occurrences }: Forecast, at: number): Mark[] {
  return occurrences.flatMap((each) => {
    const { kind, id, name } = each.trigger
    // Nobody plans a question: it has no lane.
    if (kind === 'question') return []
    const been = Date.parse(each.at) <= at
    const past = been ? { ...each, user_id, attempts: 1, outcome: outcomeAt(each, at) } : null
    const mark = { key: each.id, kind, at: Date.parse(each.at), name, who: user_id, past }
    const href = addressOf(kind, id, each.session_key)
    return [{ ...mark, href, repeats: false, checks: false }]
  })
}

/** What waits for its moment then comes later, whatever comes of it. */
export function outcomeAt({ outcome, deferred }: Occurrence, at: number): Outcome {
  const until = deferred?.until ?? null
  return until !== null && Date.parse(until) > at ? 'deferred' : outcome
}

/** Said, and waiting for their moment, by then. */
export function standing({ occurrences }: Forecast, at: number) {
  const by = (instant: string | null | undefined) => instant != null && Date.parse(instant) <= at
  return {
    said: occurrences.filter(({ said_at }) => by(said_at)).length,
    waiting: occurrences.filter(
      ({ deferred }) => deferred !== undefined && by(deferred.from) && !by(deferred.until),
    ).length,
  }
}

const DAY = new Map<string, Intl.DateTimeFormat>()

/** `2026-11-17`, on the clock of that zone. */
export function dayIn(instant: string | number, timeZone: string): string {
  const known = DAY.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone })
  DAY.set(timeZone, known)
  return known.format(new Date(instant))
}
