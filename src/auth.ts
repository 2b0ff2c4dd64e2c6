/** Who is at the door. `open` is for loopback, where every caller is admin; `keys` wants a bearer key. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from './api/contract.ts'
import { Refusal } from './core/errors.ts'
import { KEY_PART } from './core/session.ts'

const ADMIN: Actor = {
  role: 'admin',
  ownerDid: null,
  userId: null,
  agentId: null,
  keyId: null,
  actAs: false,
}
const DID = /^did:matrix:([a-zA-Z0-9_-]{1,64}):[0-9a-f]{16}$/

export function authenticator(options: { auth: 'open' | 'keys'; adminKey: string | null }) {
  const digest = options.adminKey === null ? null : sha256(options.adminKey)
  return async (headers: IncomingHttpHeaders): Promise<Actor> => {
    if (options.auth === 'keys') requireKey(headers.authorization, digest)
    return actingAs(ADMIN, headers['wakeful-act-as'])
  }
}

function requireKey(header: string | undefined, digest: Buffer | null): void {
  const key = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1]
  if (key !== undefined && digest !== null && timingSafeEqual(sha256(key), digest)) return
  throw new Refusal('unauthenticated', 'send a valid key as "Authorization: Bearer <key>"')
}

/** Admin may act for one owner, named by DID or by a bare user id. */
function actingAs(actor: Actor, header: string | string[] | undefined): Actor {
  if (header === undefined) return actor
  const name = String(header)
  const userId = KEY_PART.test(name) ? name : DID.exec(name)?.[1]
  if (userId === undefined) {
    throw new Refusal(
      'shape',
      'Wakeful-Act-As: takes a user id or did:matrix:<user>:<16 hex digits>',
    )
  }
  const ownerDid = name === userId ? `did:matrix:${userId}:0000000000000000` : name
  return { ...actor, userId, ownerDid, actAs: true }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
