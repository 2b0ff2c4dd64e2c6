/** Intents that turns ask for, written and deleted within their commit. */
import { type IntentDraft, planIntent } from '../core/intents/draft.ts'
import type { Db } from '../store/db/db.ts'
import { databaseNow } from '../store/db/due.ts'
import { deleteOwnIntents, insertIntent, roomForIntents } from '../store/intents/intents.ts'
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
  const drafts = new Map<string, IntentDraft[]>()
  for (const { wish, traceparent = null } of asked) {
    if (!('create_intent' in wish.ask)) continue
    const draft = { ...wish.ask.create_intent, traceparent }
    // One that the same turn has thought better of is not written at all.
    if (gone.some(({ id }) => id === draft.id)) continue
    drafts.set(draft.userId, [...(drafts.get(draft.userId) ?? []), draft])
  }
  if (drafts.size === 0) return
  const now = await databaseNow(tx)
  // People in one order, so that two commits wait for one another instead of for each other.
  for (const userId of [...drafts.keys()].sort()) {
    const room = await roomForIntents(tx, userId)
    for (const draft of (drafts.get(userId) ?? []).slice(0, room))
      await insertIntent(tx, draft, planIntent(draft.wish, now))
  }
}
