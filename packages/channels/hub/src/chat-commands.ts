/** What people say to a message that nobody asked for ("snooze 1h", "stop this", "why?"), done by the operations that any call has. */

import { Refusal } from '../../../../src/core/errors.ts'
import { parseSessionKey } from '../../../../src/core/session.ts'
import { formatLocal } from '../../../schedule/src/index.ts'
import type { Delivered } from './push-rows.ts'
import type { Word } from './text.ts'

/** Calls an operation by name for the person who wrote. */
type Call = (operation: string, args: object) => Promise<unknown>

const WAKE_MAX = 8_000
const LEDGER_LOOK = 50
const NOTHING = 'Nothing more of this is planned.'

/** `once`: the vendor's id of the message, so that a redelivery is handled once. */
export async function answerWord(
  call: Call,
  word: Word,
  message: Delivered,
  once: string,
): Promise<string> {
  if (word.type === 'why') return why(call, message)
  if (word.type === 'stop') return stop(call, message)
  const { session_key: key, content } = message
  const session = parseSessionKey(key)
  const set = (await call('set_alarm', {
    ...{ kind: 'once', delay_seconds: word.seconds, wake_message: content.slice(0, WAKE_MAX) },
    ...{ agent_id: session?.agentId, conversation_id: session?.threadId, label: 'Snoozed' },
    idempotency_key: `snooze ${once}`,
  })) as { next_fire_at?: string }
  if (set.next_fire_at === undefined) return 'It has come again already.'
  return `Again at ${formatLocal(Date.parse(set.next_fire_at), await zoneOf(call))}.`
}

/** Theirs; while nobody knows it, the server's own. */
async function zoneOf(call: Call): Promise<string> {
  const preferences = await call('get_preferences', { user_id: 'me' })
  return (preferences as { timezone: string }).timezone
}

interface Entry {
  readonly words: string
  readonly trigger: { readonly kind: string; readonly name?: string | null }
  readonly effects: readonly { readonly id: string }[]
}

async function why(call: Call, { session_key, effect_id }: Delivered): Promise<string> {
  const page = { session_key, limit: LEDGER_LOOK, timezone: await zoneOf(call) }
  const { data } = (await call('get_ledger', page)) as { data: readonly Entry[] }
  const entry = data.find(({ effects }) => effects.some(({ id }) => id === effect_id))
  if (entry === undefined) return 'What it came from is no longer kept.'
  const { kind, name } = entry.trigger
  const what = kind === 'timer' ? 'a follow-up' : `${kind === 'work' ? '' : 'the '}${kind}`
  return `Because of ${what}${name ? ` "${name}"` : ''}. ${entry.words}.`
}

async function stop(call: Call, { origin, session_key }: Delivered): Promise<string> {
  const { kind, id } = JSON.parse(origin ?? '{}') as { kind?: string; id?: string }
  if (id === undefined) return NOTHING
  const calls: Record<string, () => Promise<unknown>> = {
    alarm: () => call('cancel_alarm', { id }),
    intent: () => call('update_intent', { id, enabled: false }),
    work: () => call('update_work', { id, is_active: false }),
    timer: () => stopFollowUps(call, session_key),
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
async function stopFollowUps(call: Call, session_key: string): Promise<{ status?: string }> {
  const page = { session_key, status: 'pending' }
  const { data } = (await call('list_timers', page)) as {
    data: readonly { timer_id: string }[]
  }
  for (const { timer_id } of data) await call('cancel_timer', { session_key, timer_id })
  return data.length === 0 ? {} : { status: 'cancelled' }
}
