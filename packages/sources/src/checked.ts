/** Checks of sources and of the settings of their factories, before the first poll. */
import { callRefusal } from '../../../src/core/calls/address.ts'
import { POLL_MAX_MS, POLL_MIN_MS } from '../../../src/features/intents/polling.ts'
import type { Source } from '../../../src/features/intents/source.ts'

const KEY_MAX = 256

/** Throws a `TypeError` that names the invalid source. Duplicates are polled once. */
export function checkedSources(all: readonly Source[], allowPrivate: boolean): Source[] {
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

/** Throws if it is not an HTTP URL. Whether the address is allowed is checked later. */
export function checkUrl(factory: string, url: unknown): string {
  const right = typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)
  // Not repeated: it may hold a key.
  if (!right) throw new TypeError(`${factory}: url takes an http:// or https:// URL`)
  return url
}

export function everyMsOf(factory: string, seconds: unknown, preset: number): number {
  if (seconds === undefined) return preset
  const ms = typeof seconds === 'number' ? Math.round(seconds * 1000) : Number.NaN
  if (ms >= POLL_MIN_MS && ms <= POLL_MAX_MS) return ms
  const range = `${POLL_MIN_MS / 1000} to ${POLL_MAX_MS / 1000}`
  throw new TypeError(`${factory}: everySeconds takes ${range}, got ${JSON.stringify(seconds)}`)
}

export function checkHeaders(
  factory: string,
  headers: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(new Headers(headers ?? {}))
  } catch {
    // The platform's own error would quote the value, which is likely a key.
    throw new TypeError(`${factory}: headers takes names and values that HTTP allows`)
  }
}
