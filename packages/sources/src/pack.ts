/** Feeds, calendars and prices from the environment, and their state. */

import { z } from 'zod'
import { operation, page, pageOf } from '../../../src/api/contract.ts'
import type { Pack } from '../../../src/app/pack.ts'
import { HTTP_URL, isHttpUrl, type Reader, shown } from '../../../src/core/variables.ts'
import { namesTicker, readJsonPath } from './json-path.ts'
import { listSources, type SourceState } from './rows.ts'

export interface SourcesSettings {
  /** Sources to poll. */
  readonly sources: {
    readonly price: { readonly url: string; readonly path: string } | null
    readonly feeds: readonly string[]
    readonly calendars: readonly string[]
  }
}

const URLS_MAX = 100
const PRICE_URL = `${HTTP_URL} with {ticker} or {tickers} after the host`
const PRICE_PATH = 'a path such as "quote.price" or "data.{ticker}.usd"'

const SOURCES_MAX = 1000

const view = z.object({
  key: z.string().meta({ description: 'Kind, host and a hash: its URL is not shown.' }),
  kind: z.string(),
  last_ok_at: z.iso.datetime().nullable(),
  last_error: z.string().nullable().meta({
    description: 'Of the last poll; with failures 0 it was read, but not all of it.',
  }),
  failures: z.int().meta({ description: 'In a row.' }),
  next_poll_at: z.iso.datetime(),
})

const viewOf = (state: SourceState) => ({
  key: state.key,
  kind: state.kind,
  last_ok_at: state.last_ok_at?.toISOString() ?? null,
  last_error: state.last_error,
  failures: state.failures,
  next_poll_at: state.next_poll_at.toISOString(),
})

const operations = [
  operation({
    name: 'list_sources',
    method: 'GET',
    path: '/v1/sources',
    tag: 'Intents',
    summary: 'Where facts are pulled from, and how that goes',
    owner: 'nobody',
    roles: ['admin', 'service'],
    output: pageOf(view),
    async run(ctx) {
      const states = await listSources(ctx.db, SOURCES_MAX)
      return { body: page(states.map(viewOf), null) }
    },
  }),
]

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
