/** Intents that turns ask for: written, changed and deleted within their commit. */

import type { PendingCommand } from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { databaseNow } from '../../store/due.ts'
import { changeIntent, type IntentDraft, type IntentSaid, intentWish, planIntent } from './draft.ts'
import {
  deleteOwnIntents,
  getIntent,
  insertIntent,
  lockPerson,
  roomForIntents,
  updateIntent,
} from './rows.ts'

/**
 * What a turn asks for was checked when it asked. Deletions come first: they make room. Whatever a concurrent
 * request has left no room for is left out, because a throw here would undo the turns that share this commit.
 */
export async function writeIntentAsks(tx: Db, asked: readonly PendingCommand[]): Promise<void> {
  const gone = asked.flatMap(({ session: { userId, agentId }, wish: { ask } }) =>
    'delete_intent' in ask ? [{ id: ask.delete_intent, userId, agentId }] : [],
  )
  const made = new Set(
    asked.flatMap(({ wish: { ask } }) => ('create_intent' in ask ? ask.create_intent.id : [])),
  )
  const before = gone.filter(({ id }) => !made.has(id))
  const gones = new Set(gone.map(({ id }) => id))
  const changed = changesIn(asked).filter(({ id }) => !gones.has(id))
  // People before intents, as everywhere.
  for (const userId of [...new Set(changed.map((each) => each.userId))].sort())
    await lockPerson(tx, userId)
  if (before.length > 0) await deleteOwnIntents(tx, before)
  for (const change of changed) await changeOne(tx, change)
  const drafts = new Map<string, IntentDraft[]>()
  for (const { wish, traceparent = null, lineage = null } of asked) {
    if (!('create_intent' in wish.ask)) continue
    const draft = { ...wish.ask.create_intent, traceparent, lineage }
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

interface Change {
  readonly id: string
  readonly userId: string
  readonly agentId: string
  readonly change: IntentSaid
}

function changesIn(asked: readonly PendingCommand[]): Change[] {
  return asked
    .flatMap(({ session: { userId, agentId }, wish: { ask } }) =>
      'update_intent' in ask
        ? [{ id: ask.update_intent, userId, agentId, change: ask.change }]
        : [],
    )
    .toSorted((a, b) => (a.id === b.id ? 0 : a.id < b.id ? -1 : 1))
}

/** Those of this person and agent; what has become wrong since it was asked for is left out. */
async function changeOne(tx: Db, { id, userId, agentId, change }: Change): Promise<void> {
  const row = await getIntent(tx, userId, id, true)
  if (row === null || row.agent_id !== agentId) return
  const errors: string[] = []
  const { plan, fresh, enabling } = changeIntent(row, intentWish(change, row), row.now, errors)
  const full = enabling && (await roomForIntents(tx, userId)) === 0
  if (errors.length === 0 && !full) await updateIntent(tx, row, plan, { fresh })
}
