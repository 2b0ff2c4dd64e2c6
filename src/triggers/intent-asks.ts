/** Intents that turns ask for, written and deleted within their commit. */
import { watchesOf } from '../core/intents/condition.ts'
import { type IntentDraft, triggerOf } from '../core/intents/draft.ts'
import { firstCheck, onceAt, termsOf } from '../core/intents/intent.ts'
import { INTENTS_MAX } from '../core/intents/rules.ts'
import type { Db } from '../store/db/db.ts'
import { databaseNow } from '../store/db/due.ts'
import {
  countEnabled,
  deleteOwnIntents,
  insertIntent,
  lockPerson,
  writeWatches,
} from '../store/intents/intents.ts'
import type { Asked } from './trigger.ts'

/**
 * What a turn asks for was checked when it asked. Deletions come first: they make room. Whatever a concurrent
 * request has left no room for is left out, because a throw here would undo the turns that share this commit.
 */
export async function writeIntentAsks(tx: Db, asked: readonly Asked[]): Promise<void> {
  const gone = asked.flatMap(({ session: { userId, agentId }, wish: { ask } }) =>
    'delete_intent' in ask ? [{ id: ask.delete_intent, userId, agentId }] : [],
  )
  const made = new Set(
    asked.flatMap(({ wish: { ask } }) => ('create_intent' in ask ? ask.create_intent.id : [])),
  )
  const before = gone.filter(({ id }) => !made.has(id))
  if (before.length > 0) await deleteOwnIntents(tx, before)
  const drafts = new Map<string, Traced[]>()
  for (const {
    wish: { ask },
    traceparent,
  } of asked) {
    if (!('create_intent' in ask)) continue
    const draft = ask.create_intent
    // One that the same turn has thought better of is not written at all.
    if (gone.some(({ id }) => id === draft.id)) continue
    const traced = { ...draft, traceparent: traceparent ?? null }
    drafts.set(draft.userId, [...(drafts.get(draft.userId) ?? []), traced])
  }
  if (drafts.size === 0) return
  const now = await databaseNow(tx)
  // People in one order, so that two commits wait for one another instead of for each other.
  for (const userId of [...drafts.keys()].sort()) {
    await lockPerson(tx, userId)
    const room = INTENTS_MAX - (await countEnabled(tx, userId))
    for (const draft of (drafts.get(userId) ?? []).slice(0, Math.max(0, room)))
      await write(tx, draft, now)
  }
}

/** With the trace of the turn that asked for it. */
type Traced = IntentDraft & { readonly traceparent: string | null }

async function write(tx: Db, draft: Traced, now: Date): Promise<void> {
  const trigger = { ...triggerOf(draft), anchor_at: now }
  // The commit comes later than the asking: what was ahead then still fires, at once.
  const next_check = firstCheck(trigger, now) ?? onceAt(trigger)
  const row = await insertIntent(tx, draft, { ...draft.wish, anchor_at: now, next_check })
  await writeWatches(tx, row, watchesOf(termsOf(row)))
}
