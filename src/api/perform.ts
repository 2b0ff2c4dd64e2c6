/**
 * How an operation is run, whichever door it came through: with the rights of its actor's owner, and with an entry in
 * the audit log that commits with the change or not at all.
 */

import { type AuditEntry, type AuditHead, fieldNames } from '../features/identity/audit.ts'
import { writeAudit } from '../features/identity/audit-rows.ts'
import { readingOf } from '../store/owned.ts'
import type { Answer, Context, Input, Operation } from './contract.ts'
import { refuseOtherAgents } from './owner.ts'
import { inShard } from './shards.ts'

const OBJECT_ID_MAX = 300

export function changes(op: Operation): boolean {
  return op.method !== 'GET' && op.audit !== 'none'
}

/** Takes what `prepare` gave. */
export function perform(op: Operation, ctx: Context, input: Input): Promise<Answer> {
  refuseOtherAgents(ctx.actor, input)
  return inShard(op, ctx, input, performHere)
}

function performHere(op: Operation, ctx: Context, input: Input): Promise<Answer> {
  if (ctx.inTransaction) return runRecorded(op, ctx, input)
  const reached = reaching(op, ctx)
  if (!changes(op)) {
    const reads = op.method === 'GET' ? readingOf(reached.db) : null
    if (reads !== null) return op.run({ ...reached, db: reads }, input).then(finished)
    // One transaction for all that a read asks: giving up rights costs a round trip once, not for each statement.
    if (ctx.whole === undefined || ctx.whole === reached.db)
      return op.run(reached, input).then(finished)
    return inOneTransaction(op, ctx, (inside) => op.run(inside, input)).then(finished)
  }
  if (op.audit === 'own') return op.run({ ...reached, entry: headOf(op, ctx, input) }, input)
  return inOneTransaction(op, ctx, (inside) => runRecorded(op, inside, input)).then(finished)
}

function finished(answer: Answer): Answer | Promise<Answer> {
  return answer.later === undefined ? answer : answer.later()
}

/** The context with the rows that this operation may see. */
function reaching(op: Operation, ctx: Context): Context {
  const { whole, owner = null, actor } = ctx
  const isOther = actor.userId !== null && owner !== null && owner !== actor.userId
  const everything = op.owner === 'nobody' || isOther
  return everything && whole !== undefined ? { ...ctx, db: whole } : ctx
}

/** Runs `work` in a transaction; hints and file deletions wait for its commit. */
export async function inOneTransaction(
  op: Operation,
  ctx: Context,
  work: (inside: Context) => Promise<Answer>,
): Promise<Answer> {
  let pending: (() => void)[] = []
  const answer = await reaching(op, ctx).db.tx((db) => {
    // A retried transaction starts over, and so does this list.
    pending = []
    return work({ ...ctx, db, pending, inTransaction: true })
  })
  for (const each of pending) each()
  return answer
}

/** Within a transaction that somebody else commits. */
async function runRecorded(op: Operation, ctx: Context, input: Input): Promise<Answer> {
  const answer = await op.run(ctx, input)
  // Another status than the operation's own says that it was there already: nothing has changed.
  const same = answer.status !== undefined && answer.status !== op.status
  if (changes(op) && !same) await writeAudit(ctx.db, [entryOf(op, ctx, input, answer)])
  return answer
}

function headOf(op: Operation, { actor, requestId }: Context, { body }: Input): AuditHead {
  return {
    keyId: actor.keyId,
    role: actor.role,
    userId: actor.userId,
    actedFor: actor.actAs,
    operation: op.name,
    requestId,
    summary: fieldNames(body),
  }
}

function entryOf(op: Operation, ctx: Context, input: Input, { about }: Answer): AuditEntry {
  const named = Object.values(input.params ?? {}).join('/')
  return {
    ...headOf(op, ctx, input),
    objectId: (about?.id ?? named).slice(0, OBJECT_ID_MAX) || null,
    owner: op.owner === 'nobody' ? null : (ctx.owner ?? about?.owner ?? null),
  }
}
