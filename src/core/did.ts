/** Owners' names: `did:matrix:<user>:<first 16 hex digits of an ed25519 public key>`, and the proof that one holds that key. */
import { createPublicKey, verify } from 'node:crypto'
import { KEY_PART } from './session.ts'

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
