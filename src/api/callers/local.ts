/** Who acts when nobody came through a door: the process itself, as admin, maybe for one owner. */

import { Refusal } from '../../core/errors.ts'
import { KEY_PART, ownerDidOf, parseDid } from '../../core/session.ts'
import type { Actor } from '../contract.ts'

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
  const userId = KEY_PART.test(actAs) ? actAs : parseDid(actAs)?.userId
  if (userId === undefined) {
    throw new Refusal('shape', 'act as: takes a user id or did:matrix:<user>:<16 hex digits>')
  }
  const ownerDid = actAs === userId ? ownerDidOf(userId) : actAs
  return { ...everybody, userId, ownerDid, actAs: true }
}
