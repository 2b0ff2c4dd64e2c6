/** What all factories of sources check of their settings. */
import { POLL_MAX_MS, POLL_MIN_MS } from '../../../src/features/intents/polling.ts'

/** Throws unless it is a URL that could be called; whether its address may be is checked where that is known. */
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
