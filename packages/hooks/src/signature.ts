/** Who signed a call: Standard Webhooks, GitHub and Stripe. Pure; the body is signed as the bytes that came. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  isSigned,
  isWebhookSecret,
  newWebhookSecret,
  SECRET_FORM,
} from '../../../src/core/calls/signature.ts'

export const SCHEMES = ['standard', 'github', 'stripe'] as const
export type Scheme = (typeof SCHEMES)[number]

/** How old, or how far ahead, a signature may be. */
const TOLERANCE_MS = 5 * 60_000
const SECRET_MIN = 16
export const SECRET_MAX = 256
const SECRET_BYTES = 32
/** Signatures of one call that are tried: a sender that rotates its secret sends two. */
const SIGNATURES_MAX = 10

export interface SignedCall {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
  readonly now: Date
}

export function newSecret(scheme: Scheme): string {
  return scheme === 'standard' ? newWebhookSecret() : randomBytes(SECRET_BYTES).toString('hex')
}

/** What is wrong with a secret that was given; null: nothing. */
export function secretError(scheme: Scheme, secret: string): string | null {
  if (scheme === 'standard')
    return isWebhookSecret(secret) ? null : `secret: of scheme standard takes ${SECRET_FORM}`
  return secret.trim().length >= SECRET_MIN
    ? null
    : `secret: takes at least ${SECRET_MIN} characters`
}

/** Whether one of the secrets has signed these bytes, and lately where the scheme says when. */
export function isFrom(scheme: Scheme, secrets: readonly string[], call: SignedCall): boolean {
  switch (scheme) {
    case 'standard':
      // Other bytes than UTF-8 come out of the text changed, and are refused.
      return isSigned(secrets, call.headers, call.body.toString('utf8'), call.now)
    case 'github': {
      const given = /^sha256=([0-9a-f]{64})$/i.exec(call.headers['x-hub-signature-256'] ?? '')?.[1]
      return given !== undefined && isOneOf(secrets, [given], [call.body])
    }
    case 'stripe':
      return isFromStripe(secrets, call)
  }
}

function isFromStripe(secrets: readonly string[], { headers, body, now }: SignedCall): boolean {
  const parts = (headers['stripe-signature'] ?? '').split(',').map((each) => each.trim())
  const valuesOf = (name: string) =>
    parts.flatMap((part) => (part.startsWith(`${name}=`) ? [part.slice(name.length + 1)] : []))
  const [at = ''] = valuesOf('t')
  if (!/^\d{1,12}$/.test(at)) return false
  if (Math.abs(now.getTime() - Number(at) * 1000) > TOLERANCE_MS) return false
  const given = valuesOf('v1').filter((each) => /^[0-9a-f]{64}$/i.test(each))
  return isOneOf(secrets, given.slice(0, SIGNATURES_MAX), [Buffer.from(`${at}.`), body])
}

/** HMAC-SHA256 in hex, with the secret's own bytes as the key. */
function isOneOf(
  secrets: readonly string[],
  given: readonly string[],
  signed: readonly Buffer[],
): boolean {
  return secrets.some((secret) => {
    const hmac = createHmac('sha256', secret)
    for (const bytes of signed) hmac.update(bytes)
    const right = hmac.digest()
    return given.some((each) => timingSafeEqual(Buffer.from(each, 'hex'), right))
  })
}

/** What makes a repeated delivery the same one. `json`: the body, read. */
export function deliveryId(scheme: Scheme, call: SignedCall, json: unknown): string {
  const own = ownId(scheme, call, json)
  if (own !== undefined && own !== '') return `id ${own}`
  return `hash ${createHash('sha256').update(call.body).digest('base64url')}`
}

function ownId(scheme: Scheme, { headers }: SignedCall, json: unknown): string | undefined {
  if (scheme === 'standard') return headers['webhook-id']
  if (scheme === 'github') return headers['x-github-delivery']
  const id = (json as { id?: unknown } | null)?.id
  return typeof id === 'string' ? id : undefined
}
