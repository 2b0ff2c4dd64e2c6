/** Feeds, calendars and prices that the environment names. */
import type { Pack } from '../../../src/app/pack.ts'
import { HTTP_URL, isHttpUrl, type Reader, shown } from '../../../src/core/variables.ts'
import { namesTicker, readJsonPath } from './json-path.ts'
import { sources as operations } from './operations.ts'

export interface SourcesSettings {
  /** Where facts are pulled from. */
  readonly sources: {
    readonly price: { readonly url: string; readonly path: string } | null
    readonly feeds: readonly string[]
    readonly calendars: readonly string[]
  }
}

const URLS_MAX = 100
const PRICE_URL = `${HTTP_URL} with {ticker} or {tickers} after the host`
const PRICE_PATH = 'a path such as "quote.price" or "data.{ticker}.usd"'

export const sourcesPack = {
  name: 'sources',
  operations,
  readSettings(read: Reader): SourcesSettings {
    return {
      sources: {
        price: readPrice(read),
        feeds: read.outgoingUrls('WAKEFUL_FEEDS', URLS_MAX),
        calendars: read.outgoingUrls('WAKEFUL_CALENDARS', URLS_MAX),
      },
    }
  },
  async open({ sources: { price, feeds, calendars } }) {
    const [{ priceSource }, { feedSource }, { calendarSource }] = await Promise.all([
      import('./price.ts'),
      import('./feed.ts'),
      import('./calendar.ts'),
    ])
    return {
      sources: [
        ...(price === null ? [] : [priceSource(price)]),
        ...feeds.map((url) => feedSource({ url })),
        ...calendars.map((url) => calendarSource({ url })),
      ],
    }
  },
} as const satisfies Pack<SourcesSettings>

function readPrice(read: Reader): SourcesSettings['sources']['price'] {
  const url = read.checked('WAKEFUL_PRICE_URL', isPriceUrl, PRICE_URL, 'secret')
  const path = read.checked('WAKEFUL_PRICE_PATH', (text) => readJsonPath(text) !== null, PRICE_PATH)
  const sample = url?.replaceAll(/\{tickers?\}/g, 'X')
  if (sample !== undefined && !read.mayBeCalled('WAKEFUL_PRICE_URL', sample)) return null
  if (url !== null && path !== null) {
    const apart = url.includes('{ticker}') || namesTicker(readJsonPath(path) ?? [])
    if (!apart)
      read.refuse(
        'WAKEFUL_PRICE_PATH',
        shown(path),
        'a path with {ticker}, since WAKEFUL_PRICE_URL asks for many',
      )
    return apart ? { url, path } : null
  }
  if (url === null && read.text('WAKEFUL_PRICE_URL') === null && path !== null)
    read.refuse('WAKEFUL_PRICE_URL', 'nothing', `${PRICE_URL}, since WAKEFUL_PRICE_PATH is set`)
  if (url !== null && read.text('WAKEFUL_PRICE_PATH') === null)
    read.refuse('WAKEFUL_PRICE_PATH', 'nothing', `${PRICE_PATH}, since WAKEFUL_PRICE_URL is set`)
  return null
}

function isPriceUrl(value: string): boolean {
  const one = value.includes('{ticker}') !== value.includes('{tickers}')
  return one && !/^https?:\/\/[^/?#]*\{/i.test(value) && isHttpUrl(value.replaceAll(/[{}]/g, ''))
}
