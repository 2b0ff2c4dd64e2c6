/**
 * Signals: kept, then shown to the intents that wait for them and to nobody else. What a signal makes true fires at
 * once, by the same path as the clock's.
 */
import { performance } from 'node:perf_hooks'
import type { PromotedRow } from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { commitTx } from '../../store/due.ts'
import type { AuditEntry } from '../identity/audit.ts'
import { writeAudit } from '../identity/audit-rows.ts'
import type { Policy } from '../sessions/turn.ts'
import { wordsOf } from './condition.ts'
import { LOOK_AGAIN, type Look, lookAtSignals, type Told } from './evaluation-trigger.ts'
import { type NewSignal, tickerKey } from './signal.ts'
import {
  dropSignals,
  EVERYBODY,
  keepSignals,
  newestPrices,
  type TakenSignal,
  type WatchKey,
  watchers,
} from './signal-rows.ts'
import { type IntentSlot, lockIntents, type Note, writeNotes } from './slot-rows.ts'
import { act, rowOf } from './trigger.ts'

/** Intents looked at in one transaction; what is told may concern many more. */
const CHUNK = 1000

/** An intent and the signals that may concern it, oldest first. */
interface Concern {
  readonly bucket: number
  readonly id: string
  readonly told: Told[]
}

/** What became of one signal, and each intent that it fired. */
export interface SignalTaken extends TakenSignal {
  readonly rows: readonly PromotedRow[]
}

/** What the signals told together have fired so far. */
interface Firing {
  readonly signals: readonly NewSignal[]
  /** For each signal. */
  readonly rows: PromotedRow[][]
}

/**
 * Keeping and the first thousand intents are one transaction; further ones follow in transactions of their own,
 * and what a crash leaves out there the clock sees at its next look.
 */
export async function takeSignals(
  db: Db,
  signals: readonly NewSignal[],
  policy: Pick<Policy, 'autonomy'>,
): Promise<SignalTaken[]> {
  const firing: Firing = { signals, rows: signals.map(() => []) }
  const { kept, rest } = await commitTx(db, async (tx) => {
    for (const rows of firing.rows) rows.length = 0
    const { kept, fresh } = await keep(tx, signals)
    await writeAudit(tx, auditOf(signals, kept))
    const concerns = policy.autonomy ? await concernedBy(tx, fresh) : []
    const first = concerns.slice(0, CHUNK)
    const left = await fireWaiting(tx, first, firing)
    return { kept, rest: [left, ...chunks(concerns.slice(CHUNK))] }
  })
  for (const [index, chunk] of rest.entries()) {
    const left = index === 0 ? chunk : await commitTx(db, (tx) => fireWaiting(tx, chunk, firing))
    const changed = left.length === 0 ? [] : await commitTx(db, (tx) => noteInFlight(tx, left))
    // Those settled in between.
    if (changed.length > 0) await commitTx(db, (tx) => fireWaiting(tx, changed, firing))
  }
  return signals.map((_, index) => ({
    id: kept[index]?.id ?? '',
    stored: kept[index]?.fresh ?? false,
    promoted: firing.rows[index]?.length ?? 0,
    rows: firing.rows[index] ?? [],
  }))
}

type Kept = Awaited<ReturnType<typeof keepSignals>>[number] | undefined

/** What was known before has changed nothing. */
function auditOf(signals: readonly NewSignal[], kept: readonly Kept[]): AuditEntry[] {
  return signals.flatMap(({ audit, userId }, index) => {
    const { id, fresh } = kept[index] ?? { id: null, fresh: false }
    return audit && fresh ? { ...audit, objectId: id, owner: userId } : []
  })
}

function chunks(concerns: readonly Concern[]): Concern[][] {
  const parts: Concern[][] = []
  for (let at = 0; at < concerns.length; at += CHUNK) parts.push(concerns.slice(at, at + CHUNK))
  return parts
}

async function keep(tx: Db, signals: readonly NewSignal[]) {
  const gone = signals.filter((signal) => signal.gone)
  if (gone.length > 0) await dropSignals(tx, gone)
  const told = signals.flatMap((signal, place) => (signal.gone ? [] : [{ signal, place }]))
  const prices = told.filter(({ signal }) => signal.kind === 'price')
  const before = prices.length === 0 ? new Map() : await newestBefore(tx, prices)
  const rows = await keepSignals(
    tx,
    told.map(({ signal }) => signal),
  )
  const kept: Kept[] = signals.map(() => undefined)
  told.forEach(({ place }, index) => {
    kept[place] = rows[index]
  })
  const fresh = told.filter(({ place, signal }) => {
    const known = before.get(`${signal.key} ${signal.userId ?? EVERYBODY}`)
    // A price from before the newest we know says nothing about now.
    return kept[place]?.fresh && (known === undefined || signal.at >= known.at)
  })
  return { kept, fresh: fresh.toSorted((a, b) => a.signal.at.getTime() - b.signal.at.getTime()) }
}

function newestBefore(tx: Db, prices: readonly Told[]) {
  return newestPrices(
    tx,
    prices.map(({ signal }) => ({
      key: tickerKey(signal.key),
      userId: signal.userId ?? EVERYBODY,
    })),
  )
}

async function concernedBy(tx: Db, fresh: readonly Told[]): Promise<Concern[]> {
  const keys = fresh.flatMap(({ signal }, index) => watchKeys(signal, index))
  const found = keys.length === 0 ? [] : await watchers(tx, keys)
  const concerns = new Map<string, { bucket: number; id: string; places: Set<number> }>()
  for (const { signal, bucket, intent_id: id } of found) {
    const known = concerns.get(id)
    if (known === undefined) concerns.set(id, { bucket, id, places: new Set([signal]) })
    else known.places.add(signal)
  }
  return [...concerns.values()]
    .toSorted((a, b) => a.bucket - b.bucket || (a.id < b.id ? -1 : 1))
    .map(({ bucket, id, places }) => ({
      bucket,
      id,
      told: fresh.filter((_, index) => places.has(index)),
    }))
}

/** A headline is looked up by each of its words: one of them begins the keyword it may match. */
function watchKeys(signal: NewSignal, index: number): WatchKey[] {
  const { kind, userId } = signal
  return keysOf(signal).map((key) => ({ signal: index, kind, key, userId }))
}

function keysOf({ kind, key, payload }: NewSignal): string[] {
  if (kind === 'price') return [key]
  if (kind === 'calendar') return ['']
  const { headline, body, name, text } = JSON.parse(payload) as Record<string, string | undefined>
  return [...new Set([headline, body, name, text].flatMap((each) => wordsOf(each ?? '')))]
}

/** Answers with the concerns whose intent could not fire now: in flight, or no longer there. */
async function fireWaiting(
  tx: Db,
  concerns: readonly Concern[],
  { signals, rows }: Firing,
): Promise<Concern[]> {
  if (concerns.length === 0) return []
  const startedMs = performance.now()
  const { slots, left, told } = await held(tx, concerns, 'waiting')
  const looks = await lookAtSignals(tx, slots, told)
  const [later, now] = parted(looks)
  const { fired } = await act(tx, now, {
    ...{ startedMs, regular: false },
    traceOf: (signal) => signals[signal]?.traceparent ?? null,
  })
  await writeNotes(tx, later.map(noteOf))
  for (const fire of fired) if (fire.signal !== null) rows[fire.signal]?.push(rowOf(fire, 0))
  return left
}

/** An entry for later is no check: it only moves the next one. */
function parted(looks: readonly Look[]): [Look[], Look[]] {
  const isLater = ({ outcome, terms }: Look) =>
    outcome === 'quiet' && terms.trigger_type === 'calendar'
  return [looks.filter(isLater), looks.filter((look) => !isLater(look))]
}

function noteOf({ slot, wasMet, seenAt, lookAt }: Look): Note {
  return { slot, wasMet, seenAt, again: slot.again, lookAt, looks: 0 }
}

/** What becomes true while a fire is in flight is remembered for when that has settled. Answers with those that were not. */
async function noteInFlight(tx: Db, concerns: readonly Concern[]): Promise<Concern[]> {
  const { slots, left, told } = await held(tx, concerns, 'in flight')
  const looks = await lookAtSignals(tx, slots, told)
  await writeNotes(
    tx,
    looks.map((look) => ({ ...noteOf(look), again: againOf(look), looks: look.looks })),
  )
  return left
}

/** A cooldown ends by itself, so the clock sees to that; a crossing would be gone. */
function againOf({ slot, terms, reason, data, again }: Look): string | null {
  if (terms.trigger_type !== 'price') return LOOK_AGAIN
  return slot.again ?? (reason === 'became_true' ? data : again)
}

async function held(tx: Db, concerns: readonly Concern[], state: 'waiting' | 'in flight') {
  const slots = await lockIntents(tx, concerns, state)
  const found = new Set(slots.map((slot) => slot.id))
  const byId = new Map(concerns.map((concern) => [concern.id, concern.told]))
  const told = (slot: IntentSlot): readonly Told[] => byId.get(slot.id) ?? []
  return { slots, told, left: concerns.filter(({ id }) => !found.has(id)) }
}
