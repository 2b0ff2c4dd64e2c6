/** An agent proves its DID by signing a challenge, and gets a token with the rights of the key made for that DID. */
import { z } from 'zod'
import { operation } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import {
  CHALLENGE_SECONDS,
  challengeMessage,
  isProof,
  PUBLIC_KEY,
  parseDid,
  SIGNATURE,
  TOKEN_SECONDS,
} from '../../core/session.ts'
import { writeAudit } from './audit-rows.ts'
import { makeKey, randomToken, sha256 } from './key.ts'
import { insertToken } from './key-rows.ts'
import { keepChallenge, takeChallenge } from './once-rows.ts'

const did = z
  .string()
  .refine((text) => parseDid(text) !== null, 'must be did:matrix:<user>:<16 hex digits>')

const challengeOp = operation({
  name: 'create_challenge',
  method: 'POST',
  path: '/v1/agent/auth/challenge',
  tag: 'Keys',
  summary: 'Ask for a challenge to sign',
  description: 'The nonce works once, also when the proof fails.',
  body: z.object({ did }),
  // A nonce nobody has used yet is no change that anybody could ask about.
  audit: 'none',
  owner: 'nobody',
  roles: 'public',
  output: z.object({
    did: z.string(),
    nonce: z.string(),
    message: z.string(),
    expires_in: z.int(),
  }),
  async run(ctx, { body }) {
    const { key: nonce, hash } = randomToken()
    await keepChallenge(ctx.db, { hash, did: body.did, seconds: CHALLENGE_SECONDS })
    return {
      body: {
        did: body.did,
        nonce,
        message: challengeMessage(body.did, nonce),
        expires_in: CHALLENGE_SECONDS,
      },
    }
  },
})

const verifyOp = operation({
  name: 'verify_challenge',
  method: 'POST',
  path: '/v1/agent/auth/verify',
  tag: 'Keys',
  summary: 'Show the signed challenge and get a token for a day',
  body: z.object({
    did,
    public_key: z.string().regex(PUBLIC_KEY, 'must be an ed25519 public key, 64 hex digits'),
    nonce: z.string().min(1).max(128),
    signature: z.string().regex(SIGNATURE, 'must be an ed25519 signature, 128 hex digits'),
  }),
  // The nonce must be gone also when the proof fails: one transaction around both would bring it back.
  audit: 'own',
  owner: 'nobody',
  roles: 'public',
  output: z.object({ token: z.string(), expires_in: z.int() }),
  async run(ctx, { body }) {
    const asked = await takeChallenge(ctx.db, sha256(body.nonce))
    const proof = { ...body, publicKey: body.public_key }
    if (asked !== body.did || !isProof(proof)) throw notProven()
    const id = newId()
    const { key: token, hash } = makeKey('agent', id)
    await ctx.db.tx(async (tx) => {
      const made = await insertToken(tx, { id, hash, did: body.did, seconds: TOKEN_SECONDS })
      if (made === null) throw notProven()
      if (ctx.entry === undefined) return
      const actor = { keyId: made.parent_id, role: 'agent', userId: made.user_id }
      await writeAudit(tx, [{ ...ctx.entry, ...actor, objectId: id, owner: null }])
    })
    return { body: { token, expires_in: TOKEN_SECONDS } }
  },
})

/** One answer for all that can be wrong, so that it reveals nothing. */
function notProven(): Refusal {
  return new Refusal(
    'unauthenticated',
    'this proves no registered DID: sign the message of a fresh challenge with the ed25519 key whose public key begins with the last part of the DID, and use each nonce once',
  )
}

export const agentAuth = [challengeOp, verifyOp]
