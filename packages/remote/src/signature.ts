/** Verifies Standard Webhooks signatures with WebCrypto, and remembers recent calls to refuse replays. */

export type Verdict = 'right' | 'wrong' | 'late' | 'replayed'

const TOLERANCE_MS = 5 * 60_000
const REMEMBERED_MAX = 10_000
const encoder = new TextEncoder()

/** Calls are remembered by signature, not by id: all attempts at one event share an id. */
const taken = new Map<string, number>()

/** Keys are imported per call, so no secret stays in memory. */
function keyOf(secret: string) {
  const bare = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret
  const bytes = Uint8Array.from(atob(bare), (character) => character.charCodeAt(0))
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify'])
}

function bytesOf(signature: string): Uint8Array<ArrayBuffer> | null {
  const encoded = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature)?.[1]
  if (encoded === undefined) return null
  return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0))
}

/** Checks the signature, the age of the call, and that this process has not seen it before. */
export async function verify(
  headers: Headers,
  body: Uint8Array,
  secrets: readonly string[],
  nowMs: number,
): Promise<Verdict> {
  const id = headers.get('webhook-id') ?? ''
  const at = headers.get('webhook-timestamp') ?? ''
  if (id === '' || !/^\d{1,12}$/.test(at)) return 'wrong'
  const head = encoder.encode(`${id}.${at}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const given = (headers.get('webhook-signature') ?? '').split(' ').map(bytesOf)
  let right: string | null = null
  for (const secret of secrets) {
    const key = await keyOf(secret)
    for (const each of given)
      if (each !== null && (await crypto.subtle.verify('HMAC', key, each, signed)))
        right ??= `${at} ${each.join()}`
  }
  if (right === null) return 'wrong'
  if (Math.abs(nowMs - Number(at) * 1000) > TOLERANCE_MS) return 'late'
  return remember(right, nowMs) ? 'right' : 'replayed'
}

/** False for a replay. Expired calls are forgotten; beyond the limit the oldest are. */
function remember(call: string, nowMs: number): boolean {
  if (taken.has(call)) return false
  for (const [each, untilMs] of taken) {
    if (untilMs > nowMs && taken.size < REMEMBERED_MAX) break
    taken.delete(each)
  }
  taken.set(call, nowMs + 2 * TOLERANCE_MS)
  return true
}
