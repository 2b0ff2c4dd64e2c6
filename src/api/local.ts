/** Who acts when nobody came through a door: the process itself, as admin, maybe for one owner. */
import { Refusal } from '../core/errors.ts'
import { KEY_PART, ownerDidOf } from '../core/session.ts'
import type { Actor } from './contract.ts'

const DID = /^did:matrix:([a-zA-Z0-9_-]{1,64}):[0-9a-f]{16}$/

/** `actAs` names an owner by DID or by a bare user id. */
export function localActor(actAs?: string): Actor {
  const everybody: Actor = {
    role: 'admin',
    ownerDid: null,
    userId: null,
    agentId: null,
    keyId: null,
    actAs: false,
  }
  if (actAs === undefined) return everybody
  const userId = KEY_PART.test(actAs) ? actAs : DID.exec(actAs)?.[1]
  if (userId === undefined) {
    throw new Refusal('shape', 'act as: takes a user id or did:matrix:<user>:<16 hex digits>')
  }
  const ownerDid = actAs === userId ? ownerDidOf(userId) : actAs
  return { ...everybody, userId, ownerDid, actAs: true }
}
