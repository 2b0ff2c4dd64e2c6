/** Encrypts a message for one browser (RFC 8291) and signs its sender (RFC 8292). */
import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto'

export const CHANNEL = 'web-push'
const CURVE = 'prime256v1'
const KEY_BYTES = 65
const SALT_BYTES = 16
const EMPTY = Buffer.alloc(0)
const RECORD_BYTES = 4096
const TOKEN_SECONDS = 12 * 3600

export interface Subscription {
  readonly endpoint: string
  readonly p256dh: string
  readonly auth: string
}

/** The sender's keys, in base64url. */
export interface Keys {
  readonly publicKey: string
  readonly privateKey: string
}

/** Derived from the secret, so that every process has the key that browsers subscribed with. */
export function keysOf(secret: string): Keys {
  const pair = createECDH(CURVE)
  pair.setPrivateKey(derived(Buffer.from(secret), EMPTY, Buffer.from('wakeful web push'), 32))
  return {
    publicKey: pair.getPublicKey('base64url'),
    privateKey: pair.getPrivateKey('base64url'),
  }
}

/** A point of the curve, and a secret of 16 bytes. */
export function isSubscription({ p256dh, auth }: Subscription): boolean {
  const point = Buffer.from(p256dh, 'base64url')
  return (
    point.length === KEY_BYTES && point[0] === 4 && Buffer.from(auth, 'base64url').length === 16
  )
}

/** One record of `aes128gcm`; `pair` and `salt` are new for each message. */
export function encrypted(
  text: string,
  { p256dh, auth }: Subscription,
  pair: ECDH = fresh(),
  salt: Buffer = randomBytes(SALT_BYTES),
): Buffer {
  const [theirs, own] = [Buffer.from(p256dh, 'base64url'), pair.getPublicKey()]
  const shared = pair.computeSecret(theirs)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), theirs, own])
  const secret = derived(shared, Buffer.from(auth, 'base64url'), info, 32)
  const key = derived(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = derived(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  // The byte 2 marks the last record.
  const plain = Buffer.concat([Buffer.from(text), Buffer.from([2])])
  const size = Buffer.alloc(4)
  size.writeUInt32BE(RECORD_BYTES)
  const head = Buffer.concat([salt, size, Buffer.from([own.length]), own])
  return Buffer.concat([head, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Valid for one push service. */
export function authorization(keys: Keys, endpoint: string, contact: string, now: Date): string {
  const exp = Math.floor(now.getTime() / 1000) + TOKEN_SECONDS
  const claims = { aud: new URL(endpoint).origin, exp, sub: contact }
  const signed = [{ typ: 'JWT', alg: 'ES256' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const key = createPrivateKey({ key: jwkOf(keys), format: 'jwk' })
  const mac = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `vapid t=${signed}.${mac.toString('base64url')}, k=${keys.publicKey}`
}

function fresh(): ECDH {
  const pair = createECDH(CURVE)
  pair.generateKeys()
  return pair
}

function derived(secret: Buffer, salt: Buffer, info: Buffer, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, length))
}

function jwkOf({ publicKey, privateKey }: Keys) {
  const point = Buffer.from(publicKey, 'base64url')
  const x = point.subarray(1, 33).toString('base64url')
  const y = point.subarray(33).toString('base64url')
  return { kty: 'EC', crv: 'P-256', x, y, d: privateKey }
}
