/**
 * `Idempotency-Key`: a repeated request is answered as the first one was. The key's row commits with
 * the operation's own writes, so a crash after the commit replays, and a failure leaves no row: the
 * key can then be used again.
 */
import { createHash } from 'node:crypto'
import { canonicalJson, RawJson, writeJson } from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'
import type { KeptAnswer, KeyClaim } from '../features/identity/idempotency-rows.ts'
import type { Db } from '../store/db.ts'
import type { Answer, Context, Input, Operation } from './contract.ts'
import { inOneTransaction, perform } from './perform.ts'
import { inShard } from './shards.ts'

/** One character is no key anybody made unique; 255 is what others take, too. */
export const REQUEST_KEY = /^[\x21-\x7e]{2,255}$/
/** A row can vanish between claim and read only by expiring: once is already unlikely. */
const CLAIMS_MAX = 3

export interface IdempotencyStore {
  claimKey(db: Db, claim: KeyClaim): Promise<boolean>
  keptAnswer(db: Db, owner: string, key: string): Promise<KeptAnswer | undefined>
  completeKey(
    db: Db,
    answer: { owner: string; key: string; status: number; body: string | null },
  ): Promise<void>
}

export interface KeyedRequest {
  readonly key: string
  readonly method: string
  readonly path: string
  /** As it was posted, opaque members raw. */
  readonly body: unknown
}

function fingerprint({ method, path, body }: KeyedRequest): string {
  return createHash('sha256')
    .update(`${method} ${path}\n${canonicalJson(body)}`)
    .digest('hex')
}

/** Whose key it is: the owner of what will be created, as far as the request says. */
function keyOwner({ actor, owner }: Context): string {
  const { agentId, ownerDid, userId, keyId } = actor
  const person = userId ?? owner ?? null
  const whose = ownerDid ?? (person === null ? `*:${keyId ?? ''}` : `user:${person}`)
  return agentId === null ? whose : `${whose}:${agentId}`
}

type Run = (op: Operation, ctx: Context, input: Input, request: KeyedRequest) => Promise<Answer>

/** Runs operations at most once per key. One per process: it knows what is in flight here. */
export function onceByKey(store: IdempotencyStore): Run {
  const inFlight = new Set<string>()
  const run: Run = async (op, ctx, input, request) => {
    const owner = keyOwner(ctx)
    const claim = { owner, key: request.key, fingerprint: fingerprint(request) }
    const id = `${ctx.db.schema} ${claim.key} ${owner}`
    if (inFlight.has(id)) {
      const why = 'Idempotency-Key: a request with this key is being worked on; repeat it later'
      throw new Refusal('conflict', why, { retryAfterMs: 1_000 })
    }
    inFlight.add(id)
    try {
      const answer = await inOneTransaction(op, ctx, (inside) =>
        claimAndRun(store, op, inside, input, claim),
      )
      if (answer.later === undefined) return answer
      // The fuller answer is kept, so that a repeated request gets it.
      const full = await answer.later()
      await store.completeKey(ctx.db, keeping(op, full, claim))
      return full
    } finally {
      inFlight.delete(id)
    }
  }
  return (op, ctx, input, request) =>
    inShard(op, ctx, input, (_op, inside, asked) =>
      // Another input only asks which shard has the thing: its answer is not the one to be kept.
      asked === input ? run(op, inside, asked, request) : perform(op, inside, asked),
    )
}

async function claimAndRun(
  store: IdempotencyStore,
  op: Operation,
  ctx: Context,
  input: Input,
  claim: KeyClaim,
): Promise<Answer> {
  const { owner, key } = claim
  for (let attempt = 0; attempt < CLAIMS_MAX; attempt++) {
    if (await store.claimKey(ctx.db, claim)) {
      const answer = await perform(op, ctx, input)
      await store.completeKey(ctx.db, keeping(op, answer, claim))
      return answer
    }
    const kept = await store.keptAnswer(ctx.db, owner, key)
    if (kept !== undefined) return replay(kept, claim)
  }
  throw new Refusal('conflict', 'Idempotency-Key: this key is being worked on; repeat later')
}

function keeping(op: Operation, answer: Answer, { owner, key }: KeyClaim) {
  const kept = answer.again ?? answer.body
  const body = kept == null ? null : writeJson(kept)
  return { owner, key, status: answer.status ?? op.status, body }
}

function replay(kept: KeptAnswer, claim: KeyClaim): Answer {
  if (kept.fingerprint !== claim.fingerprint) {
    throw new Refusal('shape', 'Idempotency-Key: was used for another request; take a new key')
  }
  return {
    status: kept.status,
    body: kept.body === null ? null : new RawJson(kept.body),
    headers: { 'idempotency-replayed': 'true' },
  }
}
