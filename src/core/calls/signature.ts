/** Standard Webhooks, the pure part: what is signed, and how an answer asks for patience. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { RetryAfter } from '../backoff.ts'

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32
export const SECRET_FORM = '"whsec_" and 24 to 64 bytes in base64'

export function newWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`
}

export function isWebhookSecret(value: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1]
  if (encoded === undefined || encoded.length % 4 !== 0) return false
  const { length } = Buffer.from(encoded, 'base64')
  return length >= 24 && length <= 64
}

/**
 * `v1,<base64>` over `id.seconds.body`, one for each secret, so that a receiver can change over from an
 * old one to a new one. The body is signed as the bytes that are sent.
 */
export function webhookSignature(
  secrets: readonly string[],
  id: string,
  seconds: number,
  body: string,
): string {
  return secrets
    .map((secret) => {
      const bare = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret
      const hmac = createHmac('sha256', Buffer.from(bare, 'base64'))
      return `v1,${hmac.update(`${id}.${seconds}.${body}`).digest('base64')}`
    })
    .join(' ')
}

/** How old, or how far ahead, a signed call may be. */
const TOLERANCE_MS = 5 * 60_000

/** Whether one of the secrets has signed this, lately. The text is that of the bytes as they came. */
export function isSigned(
  secrets: readonly string[],
  headers: Readonly<Record<string, string | undefined>>,
  text: string,
  now: Date,
): boolean {
  const {
    'webhook-id': id = '',
    'webhook-timestamp': at = '',
    'webhook-signature': given,
  } = headers
  const seconds = /^\d{1,12}$/.test(at) ? Number(at) : Number.NaN
  if (id === '' || !(Math.abs(now.getTime() - seconds * 1000) <= TOLERANCE_MS)) return false
  const right = bytesOf(webhookSignature(secrets, id, seconds, text))
  const said = bytesOf(given ?? '')
  return said.some((each) => right.some((one) => isSame(one, each)))
}

const bytesOf = (signatures: string) => signatures.split(' ').map((each) => Buffer.from(each))
const isSame = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)

/** `Retry-After`: seconds, or a date. Null for none, and for what is neither. */
export function retryAfterOf(header: string | undefined): RetryAfter | null {
  const text = header?.trim() ?? ''
  if (/^\d{1,15}$/.test(text)) return { afterMs: Number(text) * 1000 }
  // Only the form HTTP writes: `new Date` alone would read almost anything as a date.
  if (!/^[A-Z][a-z]{2,8},? .{10,40} GMT$/.test(text)) return null
  const at = new Date(text)
  return Number.isNaN(at.getTime()) ? null : { at }
}
