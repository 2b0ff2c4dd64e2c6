/**
 * Conditions: what an intent waits for, judged by what was seen. Pure, and data only: no code and no patterns
 * of a user's are run here.
 */
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import type { Observed } from './own.ts'
import {
  CALENDAR_MINUTES,
  type IntentTrigger,
  type Operator,
  type TriggerCondition,
} from './rules.ts'
import { type SignalKind, tickerKey } from './signal.ts'

/** One spelling for all cases of a text: also ß and SS, ς and σ, and full-width letters. */
export function fold(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** Scripts that write without spaces: there each letter is a word, and a keyword is a sequence of them. */
const UNSPACED =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const WORD = new RegExp(`[${UNSPACED}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')

export function wordsOf(text: string): string[] {
  return fold(text).match(WORD) ?? []
}

/** Whether the words of `phrase` stand one after another in `words`. */
export function holdsPhrase(words: readonly string[], phrase: readonly string[]): boolean {
  const [first] = phrase
  if (first === undefined) return false
  for (let at = words.indexOf(first); at >= 0; at = words.indexOf(first, at + 1)) {
    if (phrase.every((word, offset) => words[at + offset] === word)) return true
  }
  return false
}

export interface Watch {
  readonly kind: SignalKind
  readonly key: string
}

/**
 * What can make this intent's condition true: the ticker, the first word of each keyword, or any calendar
 * entry. A signal finds the intents it may concern by these keys alone.
 */
export function watchesOf({
  trigger_type: kind,
  trigger_condition: condition,
}: Pick<IntentTrigger, 'trigger_type' | 'trigger_condition'>): Watch[] {
  switch (kind) {
    case 'price':
      return condition.ticker === undefined ? [] : [{ kind, key: tickerKey(condition.ticker) }]
    case 'news':
    case 'event': {
      const firsts = (condition.keywords ?? []).flatMap((keyword) => wordsOf(keyword).slice(0, 1))
      return [...new Set(firsts)].map((key) => ({ kind, key }))
    }
    case 'calendar':
      return [{ kind, key: '' }]
    default:
      return []
  }
}

/** How old a value may be before it says nothing, unless `max_age_minutes` says otherwise. */
const MAX_AGE_MINUTES = 60
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SILENT_HOURS = 48
/** Facts that concern one intent at one look; older ones beyond that are dropped. */
const MATCHES_MAX = 200

export interface Price {
  readonly price: number
  readonly at: Date
}

/** A headline, an event or a calendar entry. */
export interface Fact {
  /** What is remembered of it once it has fired. */
  readonly key: string
  readonly at: Date
  /** Its texts in words; a keyword lies within one of them. */
  readonly texts: readonly (readonly string[])[]
  /** What is told of it. */
  readonly shown: Readonly<Record<string, unknown>>
  /** Of an event: JSON text, as it was posted. */
  readonly data?: string | null
  /** The row that has its data, until that is read. */
  readonly dataId?: string | null
}

export interface Match {
  readonly fact: Fact
  readonly keyword: string | null
}

/** What was looked at. Facts: those of this intent's keywords that have not fired it yet. */
export type Sight =
  | { readonly of: 'price'; readonly newest: Price | null }
  | { readonly of: 'silence'; readonly lastUserAt: Date | null }
  | { readonly of: 'own'; readonly observed: Observed | null }
  | { readonly of: 'facts' | 'calendar'; readonly unused: readonly Match[] }

/** What an intent remembers of its earlier looks, under the names of its columns. */
export interface Memory {
  readonly was_met: boolean
  readonly seen_at: Date | null
  readonly last_executed: Date | null
  readonly fact: string | null
}

export type Reason =
  | 'became_true'
  | 'cooled_down'
  | 'new'
  | 'still_true'
  | 'false'
  | 'unknown'
  | 'stale'
  | 'nothing_new'

export interface Judgement {
  readonly fires: boolean
  readonly reason: Reason
  /** What was seen, for `trigger_data`. */
  readonly data: Readonly<Record<string, unknown>>
  readonly wasMet: boolean
  readonly seenAt: Date | null
  /** The fact that fires it. */
  readonly fact: string | null
  /** When it can change by itself: of silence the next look, else only if that is sooner than the regular one. */
  readonly lookAt: Date | null
}

type Terms = Pick<IntentTrigger, 'trigger_type' | 'trigger_condition'>

export function judgeCondition(terms: Terms, memory: Memory, sight: Sight, now: Date): Judgement {
  const { trigger_condition: condition } = terms
  switch (sight.of) {
    case 'price':
      return judgePrice(condition, memory, sight.newest, now)
    case 'silence':
      return judgeSilence(condition, memory, sight.lastUserAt, now)
    case 'own':
      return judgeOwn(condition, memory, sight.observed, now)
    case 'facts':
      return judgeFacts(memory, sight.unused)
    case 'calendar':
      return judgeCalendar(condition, memory, sight.unused, now)
  }
}

function judgePrice(
  condition: TriggerCondition,
  memory: Memory,
  newest: Price | null,
  now: Date,
): Judgement {
  const { ticker = '', operator = '==', value = Number.NaN } = condition
  const wanted = { ticker: tickerKey(ticker), operator, value }
  if (newest === null) return quiet(memory, 'unknown', { ...wanted, price: null })
  const data = { ...wanted, price: newest.price, at: newest.at.toISOString() }
  if (!isFresh(newest.at, condition, now)) return quiet(memory, 'stale', data)
  const holds = COMPARE[operator](newest.price, value)
  return judgeEdge(condition, { ...memory, seen_at: newest.at }, holds, data, now)
}

const COMPARE: Record<Operator, (price: number, value: number) => boolean> = {
  '<': (price, value) => price < value,
  '<=': (price, value) => price <= value,
  '>': (price, value) => price > value,
  '>=': (price, value) => price >= value,
  '==': (price, value) => price === value,
  '!=': (price, value) => price !== value,
}

function judgeSilence(
  condition: TriggerCondition,
  memory: Memory,
  lastUserAt: Date | null,
  now: Date,
): Judgement {
  const { threshold_hours = SILENT_HOURS } = condition
  // A person who writes now is silent by then: it cannot become true sooner.
  const soonest = new Date(now.getTime() + threshold_hours * HOUR_MS)
  if (lastUserAt === null)
    return { ...quiet(memory, 'unknown', { threshold_hours, last_user_at: null }), lookAt: soonest }
  const trueAt = new Date(lastUserAt.getTime() + threshold_hours * HOUR_MS)
  const silentMs = now.getTime() - lastUserAt.getTime()
  const silent_hours = Math.floor((silentMs / HOUR_MS) * 100) / 100
  const data = { threshold_hours, last_user_at: lastUserAt.toISOString(), silent_hours }
  // A word since the last fire broke the silence, also where nobody looked in between.
  const broken = memory.last_executed !== null && lastUserAt > memory.last_executed
  const was_met = memory.was_met && !broken
  const judged = judgeEdge(condition, { ...memory, was_met }, trueAt <= now, data, now)
  if (judged.fires) return judged
  return { ...judged, lookAt: judged.reason === 'false' ? trueAt : (judged.lookAt ?? soonest) }
}

/** Throws what kept it from answering: that is recorded as a failed check. */
function judgeOwn(
  condition: TriggerCondition,
  memory: Memory,
  observed: Observed | null,
  now: Date,
): Judgement {
  const asked = { condition: condition.type, ...(condition.params && { params: condition.params }) }
  if (observed === null) return quiet(memory, 'unknown', asked)
  if ('error' in observed) throw new Error(observed.error)
  const data = observed.data === undefined ? asked : { ...asked, data: observed.data }
  return judgeEdge(condition, { ...memory, seen_at: now }, observed.met, data, now)
}

/** Fires when it becomes true; while it stays so, again only after the cooldown that was asked for. */
function judgeEdge(
  condition: TriggerCondition,
  memory: Memory,
  holds: boolean,
  data: Judgement['data'],
  now: Date,
): Judgement {
  if (!holds) return { ...quiet(memory, 'false', data), wasMet: false }
  if (!memory.was_met) return fire(memory, 'became_true', data)
  const again = cooledAt(condition, memory)
  if (again !== null && again <= now) return fire(memory, 'cooled_down', data)
  return { ...quiet(memory, 'still_true', data), lookAt: again }
}

function cooledAt({ cooldown_minutes }: TriggerCondition, memory: Memory): Date | null {
  if (cooldown_minutes === undefined || memory.last_executed === null) return null
  return new Date(memory.last_executed.getTime() + cooldown_minutes * MINUTE_MS)
}

function judgeFacts(memory: Memory, unused: readonly Match[]): Judgement {
  const first = firstOf(unused, memory)
  if (first === null) return quiet(memory, 'nothing_new', {})
  const { fact, keyword } = first
  const data = fact.data == null ? {} : { data: new RawJson(fact.data) }
  return { ...fire(memory, 'new', { ...fact.shown, ...data, keyword }), fact: fact.key }
}

function judgeCalendar(
  condition: TriggerCondition,
  memory: Memory,
  unused: readonly Match[],
  now: Date,
): Judgement {
  const leadMs = (condition.value ?? CALENDAR_MINUTES) * MINUTE_MS
  const ahead = unused.filter(({ fact }) => fact.at >= now)
  const near = ahead.filter(({ fact }) => fact.at.getTime() - now.getTime() <= leadMs)
  const first = firstOf(near, memory)
  if (first !== null) {
    const { fact } = first
    const minutes_left = Math.round((fact.at.getTime() - now.getTime()) / MINUTE_MS)
    return { ...fire(memory, 'new', { ...fact.shown, minutes_left }), fact: fact.key }
  }
  const [next] = ahead.toSorted(bySoonest)
  if (next === undefined) return quiet(memory, 'nothing_new', { next: null })
  const lookAt = new Date(next.fact.at.getTime() - leadMs)
  return { ...quiet(memory, 'nothing_new', { next: next.fact.shown }), lookAt }
}

/** The oldest; one that was tried last and did not get through lets the others go first. */
export function firstOf(unused: readonly Match[], memory: Pick<Memory, 'fact'>): Match | null {
  const inOrder = unused.toSorted(bySoonest)
  return inOrder.find(({ fact }) => fact.key !== memory.fact) ?? inOrder[0] ?? null
}

function bySoonest(a: Match, b: Match): number {
  return a.fact.at.getTime() - b.fact.at.getTime() || (a.fact.key < b.fact.key ? -1 : 1)
}

/** What was unknown, stale or absent says nothing about the edge: it stays as it was. */
function quiet(memory: Memory, reason: Reason, seen: Judgement['data']): Judgement {
  const { was_met: wasMet, seen_at: seenAt } = memory
  return {
    fires: false,
    reason,
    data: { reason, ...seen },
    wasMet,
    seenAt,
    fact: null,
    lookAt: null,
  }
}

function fire(memory: Memory, reason: Reason, data: Judgement['data']): Judgement {
  return {
    fires: true,
    reason,
    data,
    wasMet: true,
    seenAt: memory.seen_at,
    fact: null,
    lookAt: null,
  }
}

function isFresh(at: Date, condition: TriggerCondition, now: Date): boolean {
  return now.getTime() - at.getTime() <= maxAgeMs(condition)
}

export function maxAgeMs({ max_age_minutes = MAX_AGE_MINUTES }: TriggerCondition): number {
  return max_age_minutes * MINUTE_MS
}

/** Facts by each of their words, so that a keyword looks only at those that have its first one. */
export type FactIndex = ReadonlyMap<string, readonly Fact[]>

export function indexFacts(facts: readonly Fact[]): FactIndex {
  const index = new Map<string, Fact[]>()
  for (const fact of facts) {
    for (const word of new Set(fact.texts.flat())) {
      const known = index.get(word)
      if (known === undefined) index.set(word, [fact])
      else known.push(fact)
    }
  }
  return index
}

/** The fresh facts that any of the keywords occurs in, newest first. */
export function matchFacts(condition: TriggerCondition, index: FactIndex, now: Date): Match[] {
  const found = new Map<string, Match>()
  for (const keyword of condition.keywords ?? []) {
    const phrase = wordsOf(keyword)
    for (const fact of index.get(phrase[0] ?? '') ?? []) {
      if (found.has(fact.key) || !isFresh(fact.at, condition, now)) continue
      if (holds(fact, phrase)) found.set(fact.key, { fact, keyword })
    }
  }
  return [...found.values()].toSorted((a, b) => bySoonest(b, a)).slice(0, MATCHES_MAX)
}

/** Calendar entries; where keywords are given, those that have one of them in their title. */
export function matchEntries({ keywords }: TriggerCondition, entries: readonly Fact[]): Match[] {
  if (keywords === undefined || keywords.length === 0)
    return entries.map((fact) => ({ fact, keyword: null }))
  const phrases = keywords.map((keyword) => ({ keyword, phrase: wordsOf(keyword) }))
  return entries.flatMap((fact) => {
    const hit = phrases.find(({ phrase }) => holds(fact, phrase))
    return hit === undefined ? [] : [{ fact, keyword: hit.keyword }]
  })
}

function holds({ texts }: Fact, phrase: readonly string[]): boolean {
  return texts.some((words) => holdsPhrase(words, phrase))
}
