/** Checks that an incoming request is from the vendor. Pure. */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** A signature is good for this long, either way: clocks differ. */
const YOUNG_MS = 5 * 60_000

export function hmacHex(secret: string, ...signed: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', secret)
  for (const each of signed) hmac.update(each)
  return hmac.digest('hex')
}

/** Takes as long whatever is wrong. */
export function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** `seconds`: as the vendor writes it. */
export function isYoung(seconds: string, now: Date): boolean {
  if (!/^\d{1,12}$/.test(seconds)) return false
  return Math.abs(now.getTime() - Number(seconds) * 1000) <= YOUNG_MS
}
