/**
 * Finds material for a task in the configured feeds and search. All requests go through the guarded fetcher, with limits
 * on places, entries, pages and time. A place that cannot be read is reported; the others still count.
 */

import type { Fetched, FetchRequest } from '../../../src/calls/fetcher.ts'
import { errorText } from '../../../src/core/errors.ts'
import { wordsOf } from '../../../src/features/intents/condition.ts'
import { type Got, SourceError } from '../../../src/features/intents/source.ts'
import { textOf } from '../../sources/src/charset.ts'
import { linkOf } from '../../sources/src/feed.ts'
import { feedDate } from '../../sources/src/feed-date.ts'
import { type FeedItem, readFeed } from '../../sources/src/feed-reader.ts'
import { plain, plainHtml } from '../../sources/src/plain.ts'

const LOOK_MAX_MS = 90_000
const AT_ONCE = 8
const FROM_FEEDS_MAX = 20
const FROM_SEARCH_MAX = 10
const PAGES_MAX = 5
const TITLE_MAX = 300
const SNIPPET_MAX = 1_000
const PAGE_MAX = 8_000
const QUERY_MAX = 300
const TROUBLE_MAX = 200

export interface Places {
  readonly feeds: readonly string[]
  /** Answers `?q=…&format=json` with `{ results: [{ title, url, content?, publishedDate? }] }`, as SearXNG does. */
  readonly search: string | null
  readonly fetch: (request: FetchRequest) => Promise<Fetched>
}

export interface Finding {
  readonly title: string
  readonly url: string | null
  readonly at: Date | null
  readonly text: string
}

export interface Looked {
  readonly findings: readonly Finding[]
  /** Places that could not be read, by host only: the rest of a URL may hold a key. */
  readonly troubles: readonly string[]
}

export function canLook({ feeds, search }: Places): boolean {
  return feeds.length > 0 || search !== null
}

/** Findings for the task without duplicates, search results first. */
export async function look(task: string, places: Places, signal: AbortSignal): Promise<Looked> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MAX_MS)])
  const wanted = topicWords(task)
  const troubles: string[] = []
  const attempt = async (url: string, read: () => Promise<Finding[]>): Promise<Finding[]> => {
    try {
      return await read()
    } catch (error) {
      signal.throwIfAborted()
      troubles.push(`${new URL(url).hostname}: ${errorText(error, TROUBLE_MAX)}`)
      return []
    }
  }
  const { feeds, search, fetch } = places
  const searched =
    search === null ? [] : await attempt(search, () => ask(search, queryOf(task), fetch, bounded))
  const entries = await eachOf(feeds, (url) =>
    attempt(url, async () => feedEntries(await get(url, fetch, bounded), url)),
  )
  const fitting = rank(entries.flat(), wanted).slice(0, FROM_FEEDS_MAX)
  return { findings: once([...searched, ...fitting]), troubles }
}

/** The findings, the first ones with the text of their pages; a page that cannot be read keeps its excerpt. */
export async function withPages(
  findings: readonly Finding[],
  { fetch }: Places,
  signal: AbortSignal,
): Promise<{ findings: Finding[]; read: number }> {
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MAX_MS)])
  const first = findings.filter(({ url }) => url !== null).slice(0, PAGES_MAX)
  const texts = new Map<Finding, string>()
  await eachOf(first, async (finding) => {
    try {
      const got = await get(finding.url ?? '', fetch, bounded)
      if (!/^(?:text\/(?:html|plain)|application\/xhtml\+xml)\b/i.test(got.contentType)) return
      const text = plainHtml(textOf(got.body, got.contentType), PAGE_MAX)
      if (text.length > finding.text.length) texts.set(finding, text)
    } catch (error) {
      // A page may be gone or forbidden; the excerpt from the feed or the search remains.
      if (!(error instanceof SourceError)) throw error
      signal.throwIfAborted()
    }
  })
  const read = findings.map((finding) => ({ ...finding, text: texts.get(finding) ?? finding.text }))
  return { findings: read, read: texts.size }
}

async function eachOf<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (let from = 0; from < all.length; from += AT_ONCE)
    done.push(...(await Promise.all(all.slice(from, from + AT_ONCE).map(run))))
  return done
}

async function get(url: string, fetch: Places['fetch'], signal: AbortSignal): Promise<Got> {
  const { got } = await fetch({ url, signal })
  if (got === null) throw new SourceError('the answer was empty')
  return got
}

function feedEntries(got: Got, feedUrl: string): Finding[] {
  return readFeed(textOf(got.body, got.contentType)).flatMap((item) => entryOf(item, feedUrl))
}

function entryOf({ title, body, link, date }: FeedItem, feedUrl: string): Finding[] {
  const headline = plainHtml(title ?? '', TITLE_MAX)
  if (headline === '') return []
  const at = date === undefined ? null : feedDate(date)
  const text = plainHtml(body ?? '', SNIPPET_MAX)
  return [{ title: headline, url: linkOf(link, feedUrl), at, text }]
}

async function ask(
  search: string,
  query: string,
  fetch: Places['fetch'],
  signal: AbortSignal,
): Promise<Finding[]> {
  const url = new URL(search)
  url.searchParams.set('q', query)
  url.searchParams.set('format', 'json')
  const { body } = await get(url.href, fetch, signal)
  const results = resultsOf(body.toString('utf8'))
  if (results === null) throw new SourceError('the answer is no JSON with a list of results')
  return results.slice(0, FROM_SEARCH_MAX).flatMap(resultOf)
}

function resultsOf(text: string): unknown[] | null {
  try {
    const { results } = JSON.parse(text) as { results?: unknown }
    return Array.isArray(results) ? results : null
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null
    throw error
  }
}

function resultOf(result: unknown): Finding[] {
  const { title, url, content, publishedDate } = (result ?? {}) as Record<string, unknown>
  if (typeof title !== 'string' || typeof url !== 'string') return []
  const href = linkOf(url, url)
  const named = plainHtml(title, TITLE_MAX)
  if (href === null || named === '') return []
  const at = typeof publishedDate === 'string' ? new Date(publishedDate) : null
  const text = typeof content === 'string' ? plainHtml(content, SNIPPET_MAX) : ''
  return [
    { title: named, url: href, at: at === null || Number.isNaN(at.getTime()) ? null : at, text },
  ]
}

const LEAD =
  /^(?:please )?(?:do (?:some |a bit of )?research (?:on|into|about)|research|investigate|look into|find out about|search for)\s+/i

function queryOf(task: string): string {
  return plain(task.replace(LEAD, ''), QUERY_MAX)
}

/** Too common to count as a match. */
const COMMON = new Set(
  'the and for with from about into what which who how why when where are was were has have had this that these those its it of on in to an or by at as be is do does research find look news latest new recent trends trend summary summarise summarize report overview'.split(
    ' ',
  ),
)

function topicWords(task: string): ReadonlySet<string> {
  return new Set(
    wordsOf(task.replace(LEAD, '')).filter((word) => word.length > 1 && !COMMON.has(word)),
  )
}

/** Entries that match: a word in the title counts twice; equal ones are sorted newest first. */
function rank(entries: readonly Finding[], wanted: ReadonlySet<string>): Finding[] {
  const scored = entries.map((entry) => {
    const title = new Set(wordsOf(entry.title))
    const text = new Set(wordsOf(entry.text))
    const score = [...wanted].reduce(
      (sum, word) => sum + (title.has(word) ? 2 : 0) + (text.has(word) ? 1 : 0),
      0,
    )
    return { entry, score }
  })
  const age = ({ entry: { at } }: (typeof scored)[number]) => at?.getTime() ?? 0
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || age(b) - age(a))
    .map(({ entry }) => entry)
}

function once(findings: readonly Finding[]): Finding[] {
  return [
    ...new Map(findings.toReversed().map((each) => [each.url ?? each.title, each])).values(),
  ].reverse()
}
