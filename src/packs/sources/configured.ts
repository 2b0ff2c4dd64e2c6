/** The sources of a process: those its environment names and those its app brings, checked before anything starts. */
import { callRefusal } from '../../core/calls/address.ts'
import { POLL_MIN_MS } from '../../core/intents/polling.ts'
import type { Source } from '../../sources/source.ts'
import { calendarSource } from './calendar.ts'
import { feedSource } from './feed.ts'
import { priceSource } from './price.ts'

export interface SourceSettings {
  readonly price: { readonly url: string; readonly path: string } | null
  readonly feeds: readonly string[]
  readonly calendars: readonly string[]
}

const KEY_MAX = 256

/** Throws a `TypeError` that says which source is wrong. One set up twice is asked once. */
export function sourcesOf(
  settings: SourceSettings,
  brought: readonly Source[],
  allowPrivate: boolean,
): Source[] {
  const all = [
    ...(settings.price === null ? [] : [priceSource(settings.price)]),
    ...settings.feeds.map((url) => feedSource({ url })),
    ...settings.calendars.map((url) => calendarSource({ url })),
    ...brought,
  ]
  for (const source of all) checkSource(source, allowPrivate)
  return [...new Map(all.map((source) => [source.key, source])).values()]
}

function checkSource(source: Source, allowPrivate: boolean): void {
  const { key, kind, everyMs, poll, address } = (source ?? {}) as Partial<Source>
  const named = typeof key === 'string' && key !== '' && key.length <= KEY_MAX
  if (!named || typeof kind !== 'string' || typeof poll !== 'function')
    throw new TypeError(
      'sources takes a list of feedSource(…), calendarSource(…), priceSource(…) or { key, kind, everyMs, poll }',
    )
  if (typeof everyMs !== 'number' || !(everyMs >= POLL_MIN_MS))
    throw new TypeError(`source ${key}: everyMs takes at least ${POLL_MIN_MS}`)
  const refusal = address === undefined ? null : callRefusal(address, allowPrivate)
  if (refusal !== null)
    throw new TypeError(
      `source ${key}: ${refusal}; takes a public address, or any with WAKEFUL_ALLOW_PRIVATE_WEBHOOKS=true`,
    )
}
