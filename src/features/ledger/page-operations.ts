/** One page of the ledger: windows of all sources merged by time, then judged, then cut. */

import type { Db } from '../../store/db.ts'
import {
  type LedgerScope,
  ledgerNow,
  ledgerWindows,
  type SlotRow,
  type SlotWindow,
} from './rows.ts'
import { judgeSlot, type LedgerKind, type Outcome } from './rules.ts'
import { gatherSlots, type Slot } from './slot-operations.ts'

/** How many slots a page looks at when what it wants can only be told by looking. */
const LOOK_MAX = 300

export interface LedgerAsk extends LedgerScope {
  readonly kind: LedgerKind | null
  /** `missed`: also those that stand for further slots. */
  readonly outcome: Outcome | null
  readonly limit: number
}

export interface LedgerPage {
  readonly slots: readonly Slot[]
  readonly next: readonly [string, string] | null
  readonly now: Date
}

export async function readLedger(db: Db, ask: LedgerAsk): Promise<LedgerPage> {
  const now = await ledgerNow(db)
  const filtered = ask.outcome !== null || ask.kind !== null
  // One more than shown tells whether there is another page; a few more for rows that stand for no slot of their own.
  const size = filtered
    ? Math.max(LOOK_MAX, ask.limit + 1)
    : ask.limit + 1 + Math.ceil(ask.limit / 4)
  const windows = await ledgerWindows(db, ask, ask.kind, size)
  const { rows, floor } = merge(windows)
  const wanted = rows.filter((row) => row.head && (ask.kind === null || row.kind === ask.kind))
  if (ask.outcome === null) {
    const shown = wanted.slice(0, ask.limit)
    const next = wanted.length > ask.limit ? positionOf(shown.at(-1)) : floor
    return { slots: await gatherSlots(db, shown), next, now }
  }
  const slots = (await gatherSlots(db, wanted)).filter((slot) => isOf(slot, ask.outcome))
  const shown = slots.slice(0, ask.limit)
  const next = slots.length > ask.limit ? positionOf(shown.at(-1)?.row) : floor
  return { slots: shown, next, now }
}

function isOf(slot: Slot, outcome: LedgerAsk['outcome']): boolean {
  if (outcome === 'missed' && slot.missedCount > 0) return true
  return judgeSlot(slot.facts).outcome === outcome
}

/**
 * All rows down to the first instant behind which a source may hold more than its window showed; `floor` is the
 * position there, null when every source was read to its end.
 */
function merge(windows: readonly SlotWindow[]): {
  rows: readonly SlotRow[]
  floor: readonly [string, string] | null
} {
  const floors = windows.flatMap(({ rows, more }) => (more ? rows.slice(-1) : []))
  const floor = floors.toSorted(newestFirst)[0]
  const all = windows.flatMap(({ rows }) => rows).toSorted(newestFirst)
  if (floor === undefined) return { rows: all, floor: null }
  return { rows: all.filter((row) => newestFirst(row, floor) <= 0), floor: positionOf(floor) }
}

/** As the database orders them: instants to the microsecond, then ids byte by byte. */
function newestFirst(a: SlotRow, b: SlotRow): number {
  if (a.at_text !== b.at_text) return a.at_text < b.at_text ? 1 : -1
  if (a.id === b.id) return 0
  return a.id < b.id ? 1 : -1
}

function positionOf(row: SlotRow | undefined): readonly [string, string] | null {
  return row === undefined ? null : [row.at_text, row.id]
}
