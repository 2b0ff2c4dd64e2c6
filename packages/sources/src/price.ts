/** Prices over an HTTP endpoint that answers JSON: one request for each ticker, or one for many. */

import { sourceKey } from '../../../src/features/intents/polling.ts'
import {
  type NewSignal,
  priceSignal,
  SIGNAL_AHEAD_MS,
} from '../../../src/features/intents/signal.ts'
import { type Source, SourceError, type Visit } from '../../../src/features/intents/source.ts'
import { checkHeaders, checkUrl, everyMsOf } from './checked.ts'
import { findIn, type JsonPath, namesTicker, readJsonPath } from './json-path.ts'

export interface PriceSourceOptions {
  /** With `{ticker}`, or with `{tickers}` for a list separated by commas. */
  readonly url: string
  /** The path of the price in the answer, such as `quote.price` or `data.{ticker}.usd`. */
  readonly path: string
  /** The path of its time: RFC 3339, or seconds or milliseconds since 1970. Default: the time of the request. */
  readonly atPath?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly everySeconds?: number
}

interface Plan {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly path: JsonPath
  readonly atPath: JsonPath | null
  readonly batch: number
}

const EVERY_MS = 60_000
/** With more tickers, those with the oldest price come first. */
const TICKERS_MAX = 500
const BATCH = 50
const AT_ONCE = 4
const WARNINGS_MAX = 5

export function priceSource(options: PriceSourceOptions): Source {
  const everyMs = everyMsOf('priceSource', options.everySeconds, EVERY_MS)
  const plan = planOf(options)
  const rest = [options.path, options.atPath ?? '']
  return {
    key: sourceKey('price', addressOf(options.url), options.url, ...rest),
    kind: 'price',
    everyMs,
    address: addressOf(options.url),
    poll: (visit) => poll(plan, visit),
  }
}

/** One of its URLs, for the address check. */
const addressOf = (url: string) => url.replaceAll('{ticker}', 'X').replaceAll('{tickers}', 'X')

function planOf(options: PriceSourceOptions): Plan {
  const { url } = options
  checkUrl('priceSource', url)
  const one = url.includes('{ticker}')
  if (one === url.includes('{tickers}'))
    throw new TypeError('priceSource: url takes either {ticker} or {tickers} where the symbols go')
  if (/^https?:\/\/[^/?#]*\{/i.test(url))
    throw new TypeError('priceSource: url takes its placeholder after the host')
  const path = pathOf('path', options.path)
  if (!one && !namesTicker(path))
    throw new TypeError('priceSource: path takes {ticker} where the answer tells many prices apart')
  return {
    url,
    headers: checkHeaders('priceSource', options.headers),
    path,
    atPath: options.atPath === undefined ? null : pathOf('atPath', options.atPath),
    batch: one ? 1 : BATCH,
  }
}

function pathOf(name: string, text: string): JsonPath {
  const path = typeof text === 'string' ? readJsonPath(text) : null
  if (path !== null) return path
  const example = '"quote.price", "data[0].close" or "quotes[symbol={ticker}].price"'
  throw new TypeError(
    `priceSource: ${name} takes a path such as ${example}, got ${JSON.stringify(text)}`,
  )
}

/** Requests all tickers, a few at once; stops at the first refusal and keeps the prices so far. */
async function poll(plan: Plan, visit: Visit): Promise<NewSignal[]> {
  const tickers = await visit.tickers(TICKERS_MAX)
  const groups: string[][] = []
  for (let at = 0; at < tickers.length; at += plan.batch)
    groups.push(tickers.slice(at, at + plan.batch))
  const signals: NewSignal[] = []
  const wrong: string[] = []
  let stopped: unknown = null
  const work = async () => {
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      if (stopped !== null || visit.signal.aborted) return
      try {
        signals.push(...(await ask(plan, visit, group, wrong)))
      } catch (error) {
        // An unknown symbol affects only its ticker; any other error would repeat.
        const own = error instanceof SourceError && (error.status === 404 || error.status === 400)
        if (own && plan.batch === 1) wrong.push(`${group[0]}: ${error.message}`)
        else stopped ??= error
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (stopped !== null && signals.length === 0) throw stopped
  if (stopped !== null) wrong.unshift(stopped instanceof Error ? stopped.message : String(stopped))
  if (wrong.length > 0 && signals.length === 0 && tickers.length > 0)
    throw new SourceError(summary(wrong))
  if (wrong.length > 0) visit.warn(summary(wrong))
  return signals
}

function summary(wrong: readonly string[]): string {
  const more = wrong.length > WARNINGS_MAX ? `; and ${wrong.length - WARNINGS_MAX} more` : ''
  return `${wrong.slice(0, WARNINGS_MAX).join('; ')}${more}`
}

async function ask(
  plan: Plan,
  visit: Visit,
  tickers: readonly string[],
  wrong: string[],
): Promise<NewSignal[]> {
  const names = tickers.map((ticker) => encodeURIComponent(ticker)).join(',')
  const url = plan.url.replaceAll('{ticker}', () => names).replaceAll('{tickers}', () => names)
  const { body } = await visit.get(url, { accept: 'application/json', ...plan.headers })
  const json = parsed(body)
  return tickers.flatMap((ticker) => {
    const price = priceIn(json, plan.path, ticker)
    const at = typeof price === 'string' ? price : instantIn(json, plan.atPath, ticker, visit.now)
    if (typeof price === 'number' && at instanceof Date)
      return [priceSignal({ ticker, price }, at, null)]
    wrong.push(`${ticker}: ${String(at)}`)
    return []
  })
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    const begins = body
      .subarray(0, 60)
      .toString('utf8')
      .replaceAll(/[^\x20-\x7e]/g, '·')
    throw new SourceError(`the answer is no JSON: it begins with ${JSON.stringify(begins)}`)
  }
}

/** The price, or an error. Quoted digits are accepted: many servers send them. */
function priceIn(json: unknown, path: JsonPath, ticker: string): number | string {
  const found = findIn(json, path, ticker)
  if ('missing' in found) return found.missing
  const { value } = found
  const number =
    typeof value === 'string' &&
    /^\s*-?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?\s*$/.test(value)
      ? Number(value)
      : value
  if (typeof number === 'number' && Number.isFinite(number)) return number
  return `the price is ${shown(value)}, which is no number`
}

const shown = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 60)
/** Larger numbers are milliseconds: as seconds they would lie beyond the year 5000. */
const SECONDS_MAX = 1e11

function instantIn(json: unknown, path: JsonPath | null, ticker: string, now: Date): Date | string {
  if (path === null) return now
  const found = findIn(json, path, ticker)
  if ('missing' in found) return found.missing
  const { value } = found
  const number = typeof value === 'string' && /^\d{9,13}$/.test(value) ? Number(value) : value
  const ms =
    typeof number === 'number'
      ? number * (number < SECONDS_MAX ? 1000 : 1)
      : typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/i.test(value)
        ? Date.parse(value)
        : Number.NaN
  if (!(ms > 0 && ms < 8.64e15)) return `its time is ${shown(value)}, which is no instant`
  if (ms > now.getTime() + SIGNAL_AHEAD_MS) return `its time ${shown(value)} lies in the future`
  return new Date(ms)
}
