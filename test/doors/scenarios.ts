/** What must mean the same through every door, step by step. */

export type Args = Record<string, unknown>

/** `remember` keeps something of an answer for later steps. */
export interface Step {
  readonly call: string
  readonly args: (kept: Args) => Args
  readonly remember?: (body: Args, kept: Args) => void
  readonly status: 'ok' | number
}
const UNKNOWN = '0195f5a0-0000-7000-8000-000000000001'
const WISH = { schedule: 'tomorrow at 9am', timezone: 'Europe/Berlin', wake_message: 'Up' }
const WEEKLY = {
  intent_name: 'review',
  trigger_type: 'cron',
  trigger_schedule: { cron: '0 9 * * 1' },
  action_context: 'look at the portfolio',
  // Left out it means different things: see defaults.test.ts.
  agent_id: null,
}
const WATCH = {
  ...WEEKLY,
  trigger_type: 'price',
  trigger_schedule: { check_interval_minutes: 30 },
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
}
const TASK = {
  task: 'what happened',
  agent_type: 'reporting',
  frequency: 'daily at 9am',
  timezone: 'Europe/Berlin',
}
const keepId = (body: Args, kept: Args) => {
  kept.id = body.id
}
const step = (
  call: string,
  args: Step['args'],
  status: Step['status'],
  remember?: Step['remember'],
): Step => ({
  call,
  args,
  status,
  ...(remember && { remember }),
})

export const SCENARIOS: Record<string, readonly Step[]> = {
  'an alarm from its setting to its end': [
    step(
      'set_alarm',
      () => ({ ...WISH, label: 'one', payload: { z: 1, a: [true, null] } }),
      'ok',
      keepId,
    ),
    step('get_alarm', ({ id }) => ({ id }), 'ok'),
    step('list_alarms', () => ({ status: 'active', limit: 5 }), 'ok'),
    step('cancel_alarm', ({ id }) => ({ id }), 'ok'),
    step('cancel_alarm', ({ id }) => ({ id }), 'ok'),
    step('list_alarms', () => ({ status: 'active' }), 'ok'),
  ],
  'a key that sets once': [
    step('set_alarm', () => ({ ...WISH, idempotency_key: 'k1' }), 'ok', keepId),
    step('set_alarm', () => ({ ...WISH, wake_message: 'other', idempotency_key: 'k1' }), 'ok'),
    step('list_alarms', () => ({}), 'ok'),
  ],
  'every kind of schedule': [
    step('set_alarm', () => ({ kind: 'once', delay_seconds: 90, wake_message: 'x' }), 'ok'),
    step(
      'set_alarm',
      () => ({
        kind: 'once',
        fire_at: '2026-12-24T18:00',
        timezone: 'Asia/Tokyo',
        wake_message: 'x',
      }),
      'ok',
    ),
    step('set_alarm', () => ({ kind: 'cron', cron_expr: '@every 90m', wake_message: 'x' }), 'ok'),
    step('set_alarm', () => ({ kind: 'cron', cron_expr: '0 9 * * 1', wake_message: 'x' }), 'ok'),
    step('list_alarms', () => ({ limit: 2 }), 'ok'),
  ],
  'a preview': [
    step(
      'preview_schedule',
      () => ({ schedule: 'every weekday at 8:30', timezone: 'Europe/Berlin', count: 5 }),
      'ok',
    ),
    step('preview_schedule', () => ({ cron_expr: '0 9 30 2 *' }), 400),
    step('preview_schedule', () => ({ schedule: 'banana' }), 400),
    step(
      'preview_schedule',
      () => ({ schedule: 'daily', cron_expr: '0 9 * * *', count: 'x' }),
      422,
    ),
  ],
  'what is refused': [
    step('set_alarm', () => ({ kind: 'cron', label: 7, colour: 'red' }), 422),
    step('set_alarm', () => ({ ...WISH, kind: 'once' }), 422),
    step('set_alarm', () => ({ ...WISH, schedule: 'often' }), 400),
    step('set_alarm', () => ({ ...WISH, timezone: 'Mars/Olympus' }), 400),
    step('set_alarm', () => ({ ...WISH, agent_id: 'nobody' }), 400),
    step(
      'set_alarm',
      () => ({ kind: 'once', fire_at: '2001-01-01T00:00:00Z', wake_message: 'x' }),
      400,
    ),
    step('set_alarm', () => ({ ...WISH, wake_message: '   ' }), 422),
    step('set_alarm', () => ({ ...WISH, wake_message: 'x'.repeat(9_000) }), 422),
    step('get_alarm', () => ({ id: UNKNOWN }), 404),
    step('get_alarm', () => ({ id: 'nonsense' }), 404),
    step('cancel_alarm', () => ({ id: UNKNOWN }), 404),
    step('list_alarms', () => ({ limit: 0 }), 422),
    step('list_alarms', () => ({ status: 'sleeping', cursor: '!' }), 422),
    step('list_alarms', () => ({}), 'ok'),
  ],
  'an intent from its making to its end': [
    step(
      'create_intent',
      () => ({ ...WATCH, metadata: { z: 1, a: [true, null] }, timezone: 'Europe/Berlin' }),
      'ok',
      keepId,
    ),
    step('create_intent', () => ({ ...WEEKLY, intent_name: 'other' }), 'ok'),
    step('get_intent', ({ id }) => ({ id }), 'ok'),
    step('list_intents', () => ({ limit: 1 }), 'ok'),
    step('list_intents', () => ({ enabled: true, trigger_type: 'price', ticker: 'nvda' }), 'ok'),
    step('update_intent', ({ id }) => ({ id, enabled: false, description: 'off' }), 'ok'),
    step('update_intent', ({ id }) => ({ id, description: null }), 'ok'),
    step('list_intents', () => ({ enabled: false }), 'ok'),
    step('delete_intent', ({ id }) => ({ id }), 'ok'),
    step('get_intent', ({ id }) => ({ id }), 404),
    step('delete_intent', ({ id }) => ({ id }), 404),
    step('list_intents', () => ({}), 'ok'),
  ],
  'intents that are refused': [
    step('create_intent', () => ({ trigger_type: 'moon', colour: 'red', enabled: 'yes' }), 422),
    step('create_intent', () => ({ ...WEEKLY, trigger_schedule: { cron: 7, at: 1 } }), 422),
    step('create_intent', () => ({ ...WEEKLY, action_context: ' ' }), 422),
    step('create_intent', () => ({ ...WEEKLY, trigger_schedule: {} }), 400),
    step('create_intent', () => ({ ...WEEKLY, agent_id: 'nobody', timezone: 'Mars/X' }), 400),
    step('create_intent', () => ({ ...WATCH, trigger_condition: { ticker: 'X' } }), 400),
    step('create_intent', () => WEEKLY, 'ok', keepId),
    step('update_intent', ({ id }) => ({ id, trigger_schedule: { cron: '61 * * * *' } }), 400),
    step('update_intent', ({ id }) => ({ id, enabled: 'maybe', x: 1 }), 422),
    step('update_intent', () => ({ id: UNKNOWN, enabled: true }), 404),
    step('update_intent', () => ({ id: 'nonsense', enabled: true }), 404),
    step('delete_intent', () => ({ id: 'nonsense' }), 404),
    step('list_intents', () => ({ limit: 101, offset: -1, enabled: 'maybe' }), 422),
    step('list_intents', () => ({}), 'ok'),
  ],
  'intents of a worker outside': [
    step('create_intent', () => ({ ...WATCH, agent_id: null }), 'ok', keepId),
    step('list_pending_intents', () => ({}), 'ok'),
    step(
      'claim_intent',
      ({ id }) => ({ id, seconds: 60 }),
      'ok',
      (body, kept) => {
        kept.claim_token = body.claim_token
      },
    ),
    step('claim_intent', ({ id }) => ({ id, seconds: 60 }), 409),
    step('claim_intent', ({ id }) => ({ id, seconds: 0 }), 422),
    step('list_pending_intents', () => ({}), 'ok'),
    step('claim_pending_intents', () => ({ seconds: 60 }), 'ok'),
    step('claim_pending_intents', () => ({ seconds: 0 }), 422),
    step('fire_intent', ({ id, claim_token }) => ({ id, claim_token, status: 'success' }), 'ok'),
    step('fire_intent', ({ id, claim_token }) => ({ id, claim_token, status: 'failed' }), 409),
    step('fire_intent', ({ id }) => ({ id, status: 'perhaps' }), 422),
    step('list_intent_executions', ({ id }) => ({ id }), 'ok'),
  ],
  'facts that are told': [
    step('create_intent', () => ({ ...WATCH, agent_id: 'bot' }), 'ok', keepId),
    step('post_signal', () => ({ kind: 'price', ticker: 'NVDA', price: 140 }), 'ok'),
    step('post_signal', () => ({ kind: 'price', ticker: 'nvda', price: 129.5 }), 'ok'),
    step('list_intents', () => ({}), 'ok'),
    step('post_signal', () => ({ kind: 'news', headline: 'Herons return', body: 'again' }), 'ok'),
    step('post_signal', () => ({ kind: 'price', headline: 'x' }), 422),
    step('post_signal', () => ({ kind: 'weather' }), 422),
    step('post_signal', () => ({ kind: 'event', name: 'x', at: '2040-01-01T00:00:00Z' }), 400),
  ],
  'work from its making to its end': [
    step(
      'create_work',
      () => TASK,
      'ok',
      (body, kept) => {
        kept.id = (body.work as Args).id
      },
    ),
    step('create_work', () => ({ ...TASK, frequency: 'once' }), 'ok'),
    step('create_work', () => ({ ...TASK, run_first: false, parameters: { z: 1, a: 2 } }), 'ok'),
    step('list_work', () => ({ active: true, limit: 1 }), 'ok'),
    step('get_work', ({ id }) => ({ id }), 'ok'),
    step('run_work', ({ id }) => ({ id }), 'ok'),
    step('list_work_outputs', ({ id }) => ({ id, limit: 1 }), 'ok'),
    step('get_work_output', ({ id }) => ({ id, run_number: '2' }), 'ok'),
    step('get_work_output', ({ id }) => ({ id, run_number: '3' }), 404),
    step('update_work', ({ id }) => ({ id, is_active: false }), 'ok'),
    step('update_work', ({ id }) => ({ id, is_active: true, frequency: 'every 6 hours' }), 'ok'),
    step('delete_work', ({ id }) => ({ id }), 'ok'),
    step('get_work', ({ id }) => ({ id }), 404),
    step('list_work', () => ({}), 'ok'),
  ],
  'work that is refused': [
    step('create_work', () => ({ task: ' ', agent_type: 7, colour: 'red' }), 422),
    step('create_work', () => ({ ...TASK, parameters: [1], wait_seconds: 61 }), 422),
    step('create_work', () => ({ ...TASK, agent_type: 'nobody', frequency: 'often' }), 400),
    step('create_work', () => ({ ...TASK, timezone: 'Mars/X' }), 400),
    step('create_work', () => ({ ...TASK, parameters: { notify_session: 'x:bot:y' } }), 400),
    step(
      'create_work',
      () => TASK,
      'ok',
      (body, kept) => {
        kept.id = (body.work as Args).id
      },
    ),
    step('update_work', ({ id }) => ({ id }), 422),
    step('update_work', ({ id }) => ({ id, frequency: 'often' }), 400),
    step('update_work', () => ({ id: UNKNOWN, is_active: false }), 404),
    step('run_work', () => ({ id: UNKNOWN }), 404),
    step('delete_work', () => ({ id: 'nonsense' }), 404),
    step('list_work', () => ({ limit: 0, active: 'maybe' }), 422),
  ],
  'keys of those who come in': [
    step('create_key', () => ({ role: 'user', user_id: 'eve' }), 'ok', keepId),
    step('create_key', () => ({ role: 'user' }), 400),
    step('create_key', () => ({ role: 'king', colour: 'red' }), 422),
    step('revoke_key', ({ id }) => ({ id }), 'ok'),
    step('revoke_key', () => ({ id: UNKNOWN }), 404),
    step('revoke_key', () => ({ id: 'nonsense' }), 404),
  ],
}
