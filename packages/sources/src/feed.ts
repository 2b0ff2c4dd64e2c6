/** Headlines from RSS and Atom feeds. */

import { fold } from '../../../src/features/intents/condition.ts'
import { sourceKey } from '../../../src/features/intents/polling.ts'
import {
  BODY_MAX_BYTES,
  type NewSignal,
  newsSignal,
  SIGNAL_AHEAD_MS,
  SIGNAL_KEPT_MS,
  TITLE_MAX,
  URL_MAX,
} from '../../../src/features/intents/signal.ts'
import type { Source, Visit } from '../../../src/features/intents/source.ts'
import { textOf } from './charset.ts'
import { checkUrl, everyMsOf } from './checked.ts'
import { feedDate } from './feed-date.ts'
import { type FeedItem, readFeed } from './feed-reader.ts'
import { plain, plainHtml } from './plain.ts'

export interface FeedSourceOptions {
  readonly url: string
  readonly everySeconds?: number
}

const EVERY_MS = 15 * 60_000
const HEADLINES_MAX = 500
/** A character takes at most four bytes. */
const BODY_MAX = BODY_MAX_BYTES / 4
/** Undated items of a new feed may be of any age, so they are not reported. */
const UNDATED_AGE_MS = 86_400_000
const ACCEPT =
  'application/rss+xml, application/atom+xml, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1'

export function feedSource(options: FeedSourceOptions): Source {
  const url = checkUrl('feedSource', options.url)
  return {
    key: sourceKey('feed', url),
    kind: 'feed',
    everyMs: everyMsOf('feedSource', options.everySeconds, EVERY_MS),
    address: url,
    poll: (visit) => poll(url, visit),
  }
}

async function poll(url: string, visit: Visit): Promise<NewSignal[] | null> {
  const got = await visit.getIfChanged(url, { accept: ACCEPT })
  if (got === null) return null
  const items = readFeed(textOf(got.body, got.contentType))
  const signals = new Map<string, NewSignal>()
  for (const item of items) {
    const signal = signalOf(item, url, visit)
    if (signal !== null && !signals.has(signal.fact)) signals.set(signal.fact, signal)
  }
  return [...signals.values()]
    .sort((a, b) => b.at.getTime() - a.at.getTime())
    .slice(0, HEADLINES_MAX)
}

/** Null for items without a headline, and for items older than the retention of signals. */
function signalOf(item: FeedItem, feedUrl: string, { now, told }: Visit): NewSignal | null {
  const headline = plainHtml(item.title ?? '', TITLE_MAX)
  if (headline === '') return null
  const body = plainHtml(item.body ?? '', BODY_MAX)
  const url = linkOf(item.link, feedUrl)
  const fact = { headline, ...(body === '' ? {} : { body }), ...(url === null ? {} : { url }) }
  // Ids such as "17" are unique in their own feed only.
  const id = `${item.id === undefined || isName(item.id) ? '' : `${new URL(feedUrl).hostname} `}${item.id ?? url ?? fold(headline)}`
  const undated = newsSignal(fact, now, null, id)
  const at = datedAt(item, undated.fact, now, told)
  return now.getTime() - at.getTime() > SIGNAL_KEPT_MS ? null : { ...undated, at }
}

/** A date in the future is an error of the feed: use the current time. */
function datedAt(item: FeedItem, fact: string, now: Date, told: Visit['told']): Date {
  const dated = item.date === undefined ? null : feedDate(item.date)
  if (dated !== null)
    return dated.getTime() > now.getTime() + SIGNAL_AHEAD_MS ? (told?.get(fact) ?? now) : dated
  return told === null ? new Date(now.getTime() - UNDATED_AGE_MS) : (told.get(fact) ?? now)
}

/** A URL, a URN or a tag URI means the same everywhere. */
const isName = (id: string) => /^[a-z][a-z\d+.-]*:\S{4,}$/i.test(id)

/** The entry's link, if it is an HTTP URL. */
export function linkOf(link: string | undefined, base: string): string | null {
  const text = plain(link ?? '', URL_MAX)
  if (text === '' || !URL.canParse(text, base)) return null
  const { href, protocol } = new URL(text, base)
  return /^https?:$/.test(protocol) && href.length <= URL_MAX ? href : null
}
