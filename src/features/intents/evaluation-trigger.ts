/**
 * Looking: what each intent waits for is gathered for a whole batch at once and judged one by one. The clock looks
 * at the newest of everything; a signal is looked at by itself, so that quick successive prices each count.
 */

import { writeJson } from '../../../packages/exact-json/src/index.ts'
import { errorText } from '../../core/errors.ts'
import type { Db } from '../../store/db.ts'
import {
  type Fact,
  firstOf,
  indexFacts,
  type Judgement,
  judgeCondition,
  type Match,
  type Memory,
  matchEntries,
  matchFacts,
  maxAgeMs,
  type Price,
  type Sight,
} from './condition.ts'
import { factOf } from './fact-trigger.ts'
import type { Observed } from './own.ts'
import { type IntentTerms, isConditionType, isExpired, termsOf } from './rules.ts'
import { type NewSignal, type SignalKind, tickerKey } from './signal.ts'
import {
  dataOf,
  EVERYBODY,
  entriesAhead,
  type FactRow,
  lastUserAt,
  newestPrices,
  type PriceRow,
  recentFacts,
  usedFacts,
} from './signal-rows.ts'
import type { IntentSlot } from './slot-rows.ts'
import { holdsWhere } from './where.ts'

/** What looking at one intent came to. */
export interface Look {
  readonly slot: IntentSlot
  readonly terms: IntentTerms
  readonly outcome: 'fire' | 'quiet' | 'expired' | 'failed'
  readonly reason: string
  /** JSON text. */
  readonly data: string
  readonly wasMet: boolean
  readonly seenAt: Date | null
  readonly fact: string | null
  readonly again: string | null
  readonly lookAt: Date | null
  readonly looks: number
  /** Which of the signals told together fired it. */
  readonly signal: number | null
}

/** Worth another look when the fire in hand has settled. */
export const LOOK_AGAIN = 'true'

/** The clock's look at intents that are due. */
export async function evaluateDue(tx: Db, slots: readonly IntentSlot[]): Promise<Look[]> {
  const looked = new Map<string, Look>()
  const waiting: Looking[] = []
  for (const slot of slots) {
    const read = readTerms(slot, true)
    if ('outcome' in read) looked.set(slot.id, read)
    else if (isConditionType(read.terms.trigger_type)) waiting.push(read)
    else looked.set(slot.id, lookOf(read, { outcome: 'fire', reason: 'due' }))
  }
  const sights = await gather(tx, waiting)
  for (const each of waiting) {
    const sight = sights.get(each.slot.id)
    if (sight !== undefined) looked.set(each.slot.id, judgedOnce(each, sight))
  }
  return slots.flatMap((slot) => looked.get(slot.id) ?? [])
}

interface Looking {
  readonly slot: IntentSlot
  readonly terms: IntentTerms
}

/** What could not be judged is that intent's own failure and must not stop the batch it is in. */
function readTerms(slot: IntentSlot, remembered: boolean): Looking | Look {
  try {
    const terms = termsOf(slot)
    if (isExpired(slot, slot.now))
      return lookOf({ slot, terms }, { outcome: 'expired', reason: 'expired' })
    // What became true while the fire before was in flight fires now, whatever is true by now.
    if (remembered && slot.again !== null && slot.again !== LOOK_AGAIN) {
      const data = slot.again
      return lookOf({ slot, terms }, { outcome: 'fire', reason: 'became_true', data })
    }
    return { slot, terms }
  } catch (error) {
    const terms = termsOf({ ...slot, trigger_schedule: null, trigger_condition: null })
    return lookOf({ slot, terms }, { outcome: 'failed', reason: errorText(error) })
  }
}

function lookOf(
  { slot, terms }: Looking,
  what: Pick<Look, 'outcome' | 'reason'> & Partial<Look>,
): Look {
  const { was_met: wasMet, seen_at: seenAt } = slot
  const rest = { fact: null, again: null, lookAt: null, looks: 1, signal: null }
  return { slot, terms, data: '{}', wasMet, seenAt, ...rest, ...what }
}

function judgedOnce({ slot, terms }: Looking, sight: Sight): Look {
  try {
    const judged = judgeCondition(terms, slot, sight, slot.now)
    const more = 'unused' in sight && sight.of === 'facts' && sight.unused.length > 1
    const again = judged.fires && more ? LOOK_AGAIN : null
    return lookOf({ slot, terms }, { ...shownOf(judged), again })
  } catch (error) {
    return lookOf({ slot, terms }, { outcome: 'failed', reason: errorText(error) })
  }
}

function shownOf(judged: Judgement) {
  const { reason, wasMet, seenAt, fact, lookAt, fires } = judged
  const outcome = fires ? ('fire' as const) : ('quiet' as const)
  return { outcome, reason, data: writeJson(judged.data), wasMet, seenAt, fact, lookAt }
}

/** A few queries for each kind that is waited for, whatever the number of intents. */
async function gather(tx: Db, waiting: readonly Looking[]): Promise<Map<string, Sight>> {
  const sights = new Map<string, Sight>()
  const of = (...types: string[]) =>
    waiting.filter(({ terms }) => types.includes(terms.trigger_type))
  await seePrices(tx, of('price'), sights)
  await seeSilence(tx, of('silence'), sights)
  await seeFacts(tx, 'news', of('news'), sights)
  await seeFacts(tx, 'event', of('event'), sights)
  await seeCalendars(tx, of('calendar'), sights)
  for (const { slot } of of('condition'))
    sights.set(slot.id, { of: 'own', observed: observedOf(slot) })
  return sights
}

type Sights = Map<string, Sight>

/** Written by us, so its members are what the type says. */
const observedOf = ({ observed }: IntentSlot) =>
  observed === null ? null : (JSON.parse(observed) as Observed)

async function seePrices(tx: Db, waiting: readonly Looking[], sights: Sights): Promise<void> {
  if (waiting.length === 0) return
  const wanted = waiting.map(({ slot, terms }) => ({
    key: tickerKey(terms.trigger_condition.ticker ?? ''),
    userId: slot.user_id,
  }))
  const rows = await newestPrices(tx, wanted)
  const read = new Map([...rows].map(([key, row]) => [key, priceOf(row)]))
  waiting.forEach(({ slot }, index) => {
    const key = wanted[index]?.key
    const shared = read.get(`${key} ${EVERYBODY}`)
    const own = read.get(`${key} ${slot.user_id}`)
    const newest = own !== undefined && (shared === undefined || own.at >= shared.at) ? own : shared
    sights.set(slot.id, { of: 'price', newest: newest ?? null })
  })
}

function priceOf({ payload, at }: Pick<PriceRow, 'payload' | 'at'>): Price {
  return { price: (JSON.parse(payload) as { price: number }).price, at }
}

async function seeSilence(tx: Db, waiting: readonly Looking[], sights: Sights): Promise<void> {
  if (waiting.length === 0) return
  const last = await lastUserAt(tx, usersOf(waiting))
  for (const { slot } of waiting)
    sights.set(slot.id, { of: 'silence', lastUserAt: last.get(slot.user_id) ?? null })
}

async function seeFacts(
  tx: Db,
  kind: 'news' | 'event',
  waiting: readonly Looking[],
  sights: Sights,
): Promise<void> {
  const [first] = waiting
  if (first === undefined) return
  const oldest = Math.max(...waiting.map(({ terms }) => maxAgeMs(terms.trigger_condition)))
  const since = new Date(first.slot.now.getTime() - oldest)
  const rows = await recentFacts(tx, kind, usersOf(waiting), since)
  const indexes = byOwner(rows, kind, indexFacts)
  const matches = waiting.map(({ slot, terms }) =>
    [EVERYBODY, slot.user_id].flatMap((owner) => {
      const index = indexes.get(owner)
      return index === undefined ? [] : matchFacts(terms.trigger_condition, index, slot.now)
    }),
  )
  await seeUnused(tx, 'facts', waiting, matches, sights)
}

async function seeCalendars(tx: Db, waiting: readonly Looking[], sights: Sights): Promise<void> {
  if (waiting.length === 0) return
  const rows = await entriesAhead(tx, usersOf(waiting))
  const entries = byOwner(rows, 'calendar', (facts) => facts)
  const matches = waiting.map(({ slot, terms }) =>
    [EVERYBODY, slot.user_id].flatMap((owner) =>
      matchEntries(terms.trigger_condition, entries.get(owner) ?? []),
    ),
  )
  await seeUnused(tx, 'calendar', waiting, matches, sights)
}

/** `matches`: one list for each of `waiting`. */
async function seeUnused(
  tx: Db,
  of: 'facts' | 'calendar',
  waiting: readonly Looking[],
  matches: readonly (readonly Match[])[],
  sights: Sights,
): Promise<void> {
  const used = await usedFacts(
    tx,
    waiting.flatMap(({ slot }, index) =>
      (matches[index] ?? []).map(({ fact }) => ({
        ...{ bucket: slot.bucket, intentId: slot.id, key: fact.key },
      })),
    ),
  )
  const unused = waiting.map(({ slot }, index) =>
    (matches[index] ?? []).filter(({ fact }) => !used.has(`${slot.id} ${fact.key}`)),
  )
  const looked = await withData(tx, waiting, unused)
  waiting.forEach(({ slot }, index) => {
    sights.set(slot.id, { of, unused: looked[index] ?? [] })
  })
}

/** Without those whose data is not as it must be. Of the others the data is read for the one that fires. */
async function withData(
  tx: Db,
  waiting: readonly Looking[],
  unused: readonly (readonly Match[])[],
): Promise<Match[][]> {
  const needed = unused.flatMap((matches, index) => {
    const { terms, slot } = waiting[index] as Looking
    if (terms.trigger_condition.where !== undefined) return matches
    const first = firstOf(matches, slot)
    return first === null ? [] : [first]
  })
  const ids = needed.flatMap(({ fact }) => (fact.dataId == null ? [] : [fact.dataId]))
  const data = await dataOf(tx, new Set(ids))
  const filled = (match: Match): Match => {
    const text = data.get(match.fact.dataId ?? '')
    return text === undefined ? match : { ...match, fact: { ...match.fact, data: text } }
  }
  return unused.map((matches, index) => {
    const { where } = (waiting[index] as Looking).terms.trigger_condition
    const all = matches.map(filled)
    return where === undefined
      ? all
      : all.filter(({ fact }) => holdsWhere(where, fact.data ?? null))
  })
}

function byOwner<T>(
  rows: readonly FactRow[],
  kind: Exclude<SignalKind, 'price'>,
  gathered: (facts: readonly Fact[]) => T,
): Map<string, T> {
  const groups = new Map<string, Fact[]>()
  for (const row of rows) {
    const fact = factOf(kind, row, row.id)
    const group = groups.get(row.owner)
    if (group === undefined) groups.set(row.owner, [fact])
    else group.push(fact)
  }
  return new Map([...groups].map(([owner, facts]) => [owner, gathered(facts)]))
}

function usersOf(waiting: readonly Looking[]): string[] {
  return [...new Set(waiting.map(({ slot }) => slot.user_id))]
}

/** A signal and its place among those told together. */
export interface Told {
  readonly place: number
  readonly signal: NewSignal
}

/** A signal's look at the intents it may concern; those it does not are left out. `told`: for each of them, oldest first. */
export async function lookAtSignals(
  tx: Db,
  slots: readonly IntentSlot[],
  told: (slot: IntentSlot) => readonly Told[],
): Promise<Look[]> {
  const looking = slots.flatMap((slot) => {
    const read = readTerms(slot, false)
    return 'outcome' in read ? [] : [read]
  })
  const prices = looking.filter(({ terms }) => terms.trigger_type === 'price')
  const others = looking.filter(({ terms }) => terms.trigger_type !== 'price')
  const sights = await unusedOf(tx, others, told)
  const looks = [
    ...prices.flatMap((each) => followPrices(each, told(each.slot))),
    ...others.flatMap((each) => judgeTold(each, sights.get(each.slot.id), told(each.slot))),
  ]
  // What is remembered for later stays so: only the clock comes back to it.
  return looks.map((look) => ({ ...look, again: look.again ?? look.slot.again }))
}

/** Each price in turn, as if they had come one by one: what crosses again while the first is in flight fires later. */
function followPrices({ slot, terms }: Looking, told: readonly Told[]): Look[] {
  let memory: Memory = slot
  let fired: Look | null = null
  let again: string | null = null
  let last: Judgement | null = null
  let looks = 0
  for (const { place, signal } of told) {
    if (memory.seen_at !== null && signal.at < memory.seen_at) continue
    const sight = { of: 'price', newest: priceOf(signal) } as const
    last = judgeCondition(terms, memory, sight, slot.now)
    looks++
    memory = { ...memory, was_met: last.wasMet, seen_at: last.seenAt }
    if (!last.fires) continue
    if (fired === null) fired = lookOf({ slot, terms }, { ...shownOf(last), signal: place })
    else again = JSON.stringify(last.data)
    memory = { ...memory, last_executed: slot.now }
  }
  if (last === null) return []
  const { was_met: wasMet, seen_at: seenAt } = memory
  const look = fired ?? lookOf({ slot, terms }, shownOf(last))
  return [{ ...look, wasMet, seenAt, again, looks }]
}

async function unusedOf(
  tx: Db,
  looking: readonly Looking[],
  told: (slot: IntentSlot) => readonly Told[],
): Promise<Sights> {
  const sights: Sights = new Map()
  const matches = looking.map(({ slot, terms }) => {
    const facts = told(slot).flatMap(({ signal }) =>
      signal.kind === 'price' ? [] : [factOf(signal.kind, signal, null)],
    )
    return terms.trigger_type === 'calendar'
      ? matchEntries(terms.trigger_condition, facts)
      : matchFacts(terms.trigger_condition, indexFacts(facts), slot.now)
  })
  await seeUnused(tx, 'facts', looking, matches, sights)
  return sights
}

/** A headline that shares no more than a first word with a keyword is no look; an entry for later only moves the next one. */
function judgeTold(each: Looking, sight: Sight | undefined, told: readonly Told[]): Look[] {
  if (sight === undefined || !('unused' in sight) || sight.unused.length === 0) return []
  const calendar = each.terms.trigger_type === 'calendar'
  const look = judgedOnce(each, calendar ? { ...sight, of: 'calendar' } : sight)
  const hit = told.find(({ signal }) => signal.kind !== 'price' && keyOf(signal) === look.fact)
  return [{ ...look, signal: hit?.place ?? null }]
}

function keyOf(signal: NewSignal): string | null {
  return signal.kind === 'price' ? null : factOf(signal.kind, signal, null).key
}
