/** What people say to a message that nobody asked for ("snooze 1h", "stop this", "why?"), done by the operations that any door has. */

import { formatLocal } from '../../packages/schedule/src/index.ts'
import type { Door } from '../api/callers/caller.ts'
import { Refusal } from '../core/errors.ts'
import { parseSessionKey } from '../core/session.ts'
import type { Word } from '../features/channels/commands.ts'
import type { Delivered } from '../features/sessions/push-rows.ts'
import { callByName } from './operations.ts'

const WAKE_MAX = 8_000
const LEDGER_LOOK = 50
const NOTHING = 'Nothing more of this is planned.'

/** `once`: the vendor's id of the message, so that a redelivery is handled once. */
export async function answerWord(
  door: Door,
  word: Word,
  message: Delivered,
  once: string,
): Promise<string> {
  if (word.type === 'why') return why(door, message)
  if (word.type === 'stop') return stop(door, message)
  const { session_key: key, content } = message
  const session = parseSessionKey(key)
  const set = (await callByName(door, 'set_alarm', {
    ...{ kind: 'once', delay_seconds: word.seconds, wake_message: content.slice(0, WAKE_MAX) },
    ...{ agent_id: session?.agentId, conversation_id: session?.threadId, label: 'Snoozed' },
    idempotency_key: `snooze ${once}`,
  })) as { next_fire_at?: string }
  if (set.next_fire_at === undefined) return 'It has come again already.'
  return `Again at ${formatLocal(Date.parse(set.next_fire_at), await zoneOf(door))}.`
}

/** Theirs; while nobody knows it, the server's own. */
async function zoneOf(door: Door): Promise<string> {
  const preferences = await callByName(door, 'get_preferences', { user_id: 'me' })
  return (preferences as { timezone: string }).timezone
}

interface Entry {
  readonly words: string
  readonly trigger: { readonly kind: string; readonly name?: string | null }
  readonly effects: readonly { readonly id: string }[]
}

async function why(door: Door, { session_key, effect_id }: Delivered): Promise<string> {
  const page = { session_key, limit: LEDGER_LOOK, timezone: await zoneOf(door) }
  const { data } = (await callByName(door, 'get_ledger', page)) as { data: readonly Entry[] }
  const entry = data.find(({ effects }) => effects.some(({ id }) => id === effect_id))
  if (entry === undefined) return 'What it came from is no longer kept.'
  const { kind, name } = entry.trigger
  const what = kind === 'timer' ? 'a follow-up' : `${kind === 'work' ? '' : 'the '}${kind}`
  return `Because of ${what}${name ? ` "${name}"` : ''}. ${entry.words}.`
}

async function stop(door: Door, { origin, session_key }: Delivered): Promise<string> {
  const { kind, id } = JSON.parse(origin ?? '{}') as { kind?: string; id?: string }
  if (id === undefined) return NOTHING
  const calls: Record<string, () => Promise<unknown>> = {
    alarm: () => callByName(door, 'cancel_alarm', { id }),
    intent: () => callByName(door, 'update_intent', { id, enabled: false }),
    work: () => callByName(door, 'update_work', { id, is_active: false }),
    timer: () => stopFollowUps(door, session_key),
  }
  try {
    const done = (await calls[kind ?? '']?.()) as { status?: string } | undefined
    return (kind === 'alarm' || kind === 'timer') && done?.status !== 'cancelled'
      ? NOTHING
      : 'Stopped.'
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return NOTHING
    throw error
  }
}

/** The one that fired is done; what else the agent meant to come back with is called off. */
async function stopFollowUps(door: Door, session_key: string): Promise<{ status?: string }> {
  const page = { session_key, status: 'pending' }
  const { data } = (await callByName(door, 'list_timers', page)) as {
    data: readonly { timer_id: string }[]
  }
  for (const { timer_id } of data) await callByName(door, 'cancel_timer', { session_key, timer_id })
  return data.length === 0 ? {} : { status: 'cancelled' }
}
