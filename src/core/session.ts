/** What a session is: its key, its parts, its bucket, its events. */
import { createPublicKey, verify } from 'node:crypto'

export const EVENT_TYPES = [
  'user_message',
  'timer',
  'tool_result',
  'alarm',
  'intent',
  'work',
  'digest',
] as const
export type EventType = (typeof EVENT_TYPES)[number]

export const KEY_PART_MAX = 128
/**
 * What users, agents and threads are called: names that people have elsewhere, such as e-mail addresses. No colon, which joins
 * them; no dots alone, which are steps of a path.
 */
const PART = String.raw`(?!\.{1,2}(?::|$))[A-Za-z0-9._@|+=~/-]{1,${KEY_PART_MAX}}`
/** The thread of a person with an agent where none is named. */
export const MAIN_THREAD = 'main'
export const KEY_PART = new RegExp(`^${PART}$`)
export const SESSION_KEY = new RegExp(`^${PART}:${PART}:${PART}$`)
export const KEY_PART_FORM = `must be 1 to ${KEY_PART_MAX} of letters, digits and . _ @ | + = ~ / -, not "." or ".." alone`
export const SESSION_KEY_FORM = `must be user:agent:thread; each part ${KEY_PART_FORM}`
export const BUCKETS = 1024
/** Every process polls every shard, so more shards only cost. */
export const SHARDS_MAX = 256
/** A turn has at most this many effects; an effect's position in its session is seq * this + ordinal. */
export const EFFECTS_PER_TURN_MAX = 1000
export const TEXT_MAX_BYTES = 32 * 1024
export const TIMER_ID_MAX = 128

export interface SessionRef {
  readonly key: string
  readonly userId: string
  readonly agentId: string
  readonly threadId: string
  readonly bucket: number
}

export function parseSessionKey(key: string): SessionRef | null {
  if (!SESSION_KEY.test(key)) return null
  const [userId = '', agentId = '', threadId = ''] = key.split(':')
  return sessionOf(userId, agentId, threadId)
}

/** From parts that are known to be good ones. `bucket`: the user's, where it is at hand. */
export function sessionOf(
  userId: string,
  agentId: string,
  threadId: string,
  bucket = bucketOf(userId),
): SessionRef {
  return { key: `${userId}:${agentId}:${threadId}`, userId, agentId, threadId, bucket }
}

/** Who owns what a user's agents make here, where no key of the agent's own says more. */
export function ownerDidOf(userId: string): string {
  return `did:matrix:${userId}:0000000000000000`
}

/**
 * A person's bucket: a hash of the user id (FNV-1a over its UTF-8) into 1,024 numbers. It comes first in every key, so
 * that the rows of one person lie together, and so that people can be spread over servers, some buckets on each.
 * Stable for ever: with another hash no row would be found.
 */
export function bucketOf(userId: string): number {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(userId, 'utf8')) {
    hash ^= byte
    hash = Math.imul(hash, 0x01000193)
  }
  return (hash >>> 0) % BUCKETS
}

/** Whose it is when nobody says: the person at this machine. */
export const LOCAL_USER = 'local'

// Owners' names: `did:matrix:<user>:<first 16 hex digits of an ed25519 public key>`, and the proof that one holds that key.
const DID = /^did:matrix:([^:]+):([0-9a-f]{16})$/
/** What stands before the 32 bytes of an ed25519 public key in its standard form (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

export const PUBLIC_KEY = /^[0-9a-f]{64}$/i
export const SIGNATURE = /^[0-9a-f]{128}$/i
export const CHALLENGE_SECONDS = 120
export const TOKEN_SECONDS = 86_400

export interface Did {
  readonly userId: string
  readonly keyPrefix: string
}

export function parseDid(text: string): Did | null {
  const [, userId, keyPrefix] = DID.exec(text) ?? []
  if (userId === undefined || keyPrefix === undefined || !KEY_PART.test(userId)) return null
  return { userId, keyPrefix }
}

/** What an agent signs. */
export function challengeMessage(did: string, nonce: string): string {
  return `wakeful-auth:${did}:${nonce}`
}

export interface Proof {
  readonly did: string
  readonly nonce: string
  /** Both in hex. */
  readonly publicKey: string
  readonly signature: string
}

/** The key is the one that the DID names, and it signed this challenge. */
export function isProof({ did, nonce, publicKey, signature }: Proof): boolean {
  const parsed = parseDid(did)
  if (parsed === null || !PUBLIC_KEY.test(publicKey) || !SIGNATURE.test(signature)) return false
  if (!publicKey.toLowerCase().startsWith(parsed.keyPrefix)) return false
  const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, 'hex')])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return verify(null, Buffer.from(challengeMessage(did, nonce)), key, Buffer.from(signature, 'hex'))
}
