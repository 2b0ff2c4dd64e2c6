/**
 * Keys: `wk_<role>_<id>_<secret>`. The role and the id say in a log or a list which key it is; the secret has 256 random
 * bits, so a plain SHA-256 is kept of the whole: there is nothing to guess that a slow hash would protect.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

export const ROLES = ['admin', 'service', 'agent', 'user', 'worker'] as const
export type Role = (typeof ROLES)[number]

const SECRET_BYTES = 32
const KEY = /^wk_(?:admin|service|agent|user|worker)_([0-9a-f]{32})_[A-Za-z0-9_-]{43}$/
const TOKEN = /^[A-Za-z0-9_-]{43}$/
const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/

export interface FreshKey {
  /** Shown once, kept nowhere. */
  readonly key: string
  readonly hash: Buffer
}

export function makeKey(role: Role, id: string): FreshKey {
  const key = `wk_${role}_${id.replaceAll('-', '')}_${randomBytes(SECRET_BYTES).toString('base64url')}`
  return { key, hash: sha256(key) }
}

/** The id that a key names, or null for what is no key of ours. */
export function keyIdOf(text: string): string | null {
  const id = KEY.exec(text)?.[1]
  return id === undefined ? null : id.replace(UUID_PARTS, '$1-$2-$3-$4-$5')
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Takes the same time wherever they differ. */
export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Whether `randomToken` could have made it. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/** A secret without a name, for nonces and tickets: 256 random bits. */
export function randomToken(): FreshKey {
  const key = randomBytes(SECRET_BYTES).toString('base64url')
  return { key, hash: sha256(key) }
}
