/**
 * Facts from outside that conditions look at: a price, a headline, a named event, a calendar entry. Each kind
 * says here what makes a repeated fact the same one, from any source.
 */
import { createHash } from 'node:crypto'
import type { AuditHead } from '../identity/audit.ts'
import { fold } from './condition.ts'

export const SIGNAL_KINDS = ['price', 'news', 'event', 'calendar'] as const
export type SignalKind = (typeof SIGNAL_KINDS)[number]

/** How long facts are kept; a calendar entry also until it has ended. No freshness limit reaches further back. */
export const SIGNAL_KEPT_MS = 7 * 86_400_000
/** How far ahead of our time of day a fact may lie: clocks differ a little. */
export const SIGNAL_AHEAD_MS = 5 * 60_000

export const TICKER_MAX = 32
export const UID_MAX = 512
export const NAME_MAX = 256
export const TITLE_MAX = 1000
export const URL_MAX = 2048
export const BODY_MAX_BYTES = 16 * 1024

/** One fact, ready to be kept. */
export interface NewSignal {
  readonly kind: SignalKind
  /** For this person only; null: for everybody. */
  readonly userId: string | null
  /** Ticker, event name or calendar uid; empty for news. */
  readonly key: string
  /** The fact's identity within its kind and person: posted twice it counts once. A calendar entry posted again replaces itself. */
  readonly fact: string
  /** JSON text: the fields of its kind, below. */
  readonly payload: string
  /** When it was so; for a calendar entry, when it starts. */
  /** Of an event: JSON text, as it was posted. */
  readonly data?: string | null
  readonly at: Date
  readonly endsAt?: Date | null
  /** Of a calendar entry: it was called off. */
  readonly gone?: boolean
  /** The trace it was told in. */
  readonly traceparent?: string | null
  /** Who told it, for the audit log. */
  readonly audit?: AuditHead | null
}

export interface PriceFact {
  readonly ticker: string
  readonly price: number
}

export interface NewsFact {
  readonly headline: string
  readonly body?: string
  readonly url?: string
}

export interface EventFact {
  readonly name: string
  readonly text?: string
}

/** What makes a told event the same one; its content where it has no id of its own. */
export interface EventExtras {
  /** JSON text, as it was posted. */
  readonly data?: string | null
  readonly id?: string
}

export interface CalendarFact {
  readonly uid: string
  readonly title: string
}

/** Tickers are compared as they are written on a ticker tape. */
export function tickerKey(ticker: string): string {
  return ticker.trim().toUpperCase()
}

export function priceSignal(fact: PriceFact, at: Date, userId: string | null): NewSignal {
  const key = tickerKey(fact.ticker)
  const payload = JSON.stringify({ ticker: key, price: fact.price })
  return {
    kind: 'price',
    userId,
    key,
    fact: `${key} ${at.toISOString()} ${fact.price}`,
    payload,
    at,
  }
}

/** `id`: what the source itself calls it; else its address, else its words. */
export function newsSignal(
  { headline, body, url }: NewsFact,
  at: Date,
  userId: string | null,
  id?: string,
): NewSignal {
  const payload = JSON.stringify({ headline, body, url })
  const fact = digest(id ?? url ?? fold(headline))
  return { kind: 'news', userId, key: '', fact, payload, at }
}

export function eventSignal(
  { name, text }: EventFact,
  at: Date,
  userId: string | null,
  { data = null, id }: EventExtras = {},
): NewSignal {
  const payload = JSON.stringify({ name, text })
  const content = `${at.toISOString()} ${payload}${data === null ? '' : ` ${data}`}`
  return {
    ...{ kind: 'event', userId, key: name, payload, data, at },
    fact: digest(id === undefined ? content : `id ${JSON.stringify([name, id])}`),
  }
}

export function calendarSignal(
  { uid, title }: CalendarFact,
  startsAt: Date,
  endsAt: Date | null,
  userId: string | null,
): NewSignal {
  const payload = JSON.stringify({
    ...{ uid, title, starts_at: startsAt.toISOString() },
    ends_at: endsAt?.toISOString(),
  })
  return { kind: 'calendar', userId, key: uid, fact: uid, payload, at: startsAt, endsAt }
}

/** Short enough for an index, whatever was posted. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
