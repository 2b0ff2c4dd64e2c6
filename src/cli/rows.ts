/** The command table: what can be asked of a running server from a terminal, and how the answers are shown. */
import {
  column,
  flag,
  json,
  number,
  type Resource,
  relative,
  status,
  text,
  valueAt,
  when,
  wide,
} from './row.ts'
import type { Item } from './table.ts'

const LIMIT = number('limit', 'at most so many')
const PAGED = [LIMIT, text('cursor', 'where the page before ended')]
const TIMEZONE = text('timezone', 'an IANA zone, such as Europe/Berlin')

/** What the flags of an alarm say together: which kind it is. */
function kindOf(input: Item): Item {
  if (input.kind !== undefined || input.schedule !== undefined) return input
  if (input.cron_expr !== undefined) return { kind: 'cron', ...input }
  if (input.fire_at !== undefined || input.delay_seconds !== undefined)
    return { kind: 'once', ...input }
  return input
}

function alarmLine(item: Item, now: number): string {
  const next = relative(item.next_fire_at, now)
  const state = item.deduped === true ? 'was set before' : item.status
  return `alarm ${item.id} ${state}: ${item.description}${next === '' ? '' : `, next ${next}`}`
}

const alarms: Resource = {
  name: 'alarms',
  about: 'what agents are to be woken for',
  rows: [
    {
      verb: 'list',
      operation: 'list_alarms',
      about: 'alarms, newest first',
      fields: [...PAGED, text('status', 'active, fired, cancelled or failed')],
      none: 'no alarms',
      columns: [
        column('id'),
        status(),
        when('next_fire_at', 'next'),
        wide('description', 'when'),
        column('agent_id', 'agent'),
        wide('label'),
        wide('wake_message', 'message'),
      ],
    },
    { verb: 'show', operation: 'get_alarm', about: 'one alarm', args: ['<id>'] },
    {
      verb: 'create',
      operation: 'set_alarm',
      about: 'set an alarm: wakeful alarms create "tomorrow at 9am" --message "stand up"',
      args: ['[schedule]'],
      fields: [
        text('wake_message', 'what the agent is told when it wakes', 'message'),
        text('fire_at', 'instead of a schedule: an instant', 'at'),
        number('delay_seconds', 'instead of a schedule: seconds from now', 'in-seconds'),
        text('cron_expr', 'instead of a schedule: five cron fields, or "@every 5m"', 'cron'),
        TIMEZONE,
        text('label', 'a name for it'),
        text('agent_id', 'who is woken', 'agent'),
        text('conversation_id', 'where', 'conversation'),
        json('payload', 'handed back with the wake'),
        text('idempotency_key', 'setting it again with this key does nothing'),
        number('max_failures', 'attempts at one wake'),
      ],
      complete: kindOf,
      says: alarmLine,
    },
    {
      verb: 'cancel',
      operation: 'cancel_alarm',
      about: 'cancel an alarm; one that has ended stays as it is',
      args: ['<id>'],
      says: alarmLine,
    },
    {
      verb: 'fire-now',
      operation: 'fire_alarm_now',
      about: 'wake now, besides its schedule',
      args: ['<id>'],
      says: (item) => `alarm ${item.id} wakes now`,
    },
  ],
}

const SCHEDULE = 'its times as JSON: {"cron":…}, {"interval_minutes":…} or {"datetime":…}'

const intents: Resource = {
  name: 'intents',
  about: 'standing wishes of people, maybe with a condition',
  rows: [
    {
      verb: 'list',
      operation: 'list_intents',
      about: 'intents of one person, newest first',
      fields: [
        text('user_id', 'whose; needed unless the key or --as says it', 'user'),
        text('trigger_type', 'only of this type', 'type'),
        text('enabled', 'true or false'),
        LIMIT,
        number('offset', 'leave out so many'),
      ],
      none: 'no intents',
      columns: [
        column('id'),
        status('enabled'),
        column('trigger_type', 'type'),
        when('next_check', 'next'),
        wide('intent_name', 'name'),
        wide('schedule_description', 'when'),
        column('execution_count', 'fired'),
        status('last_execution_status', 'last'),
      ],
    },
    { verb: 'show', operation: 'get_intent', about: 'one intent', args: ['<id>'] },
    {
      verb: 'create',
      operation: 'create_intent',
      about: 'keep a wish: wakeful intents create "morning news" --type cron …',
      args: ['<intent_name>'],
      fields: [
        text('user_id', 'whose it is', 'user'),
        text(
          'trigger_type',
          'cron, interval, once, price, silence, event, calendar or news',
          'type',
        ),
        json('trigger_schedule', SCHEDULE, 'schedule'),
        json('trigger_condition', 'its condition as JSON', 'condition'),
        text('action_context', 'what to do when it fires', 'context'),
        text('action_type', 'notify, check_in, briefing, analysis or reminder', 'action'),
        text('action_priority', 'low, normal, high or critical', 'priority'),
        text('description', 'in your own words'),
        TIMEZONE,
        text('agent_id', 'the agent that is woken', 'agent'),
        text('thread_id', 'in which conversation', 'thread'),
        text('expires_at', 'until when'),
        number('max_executions', 'how often at most'),
        json('metadata', 'handed back as it is'),
      ],
      says: (item, now) =>
        `intent ${item.id} kept: ${item.schedule_description}, looked at ${relative(item.next_check, now) || 'never'}`,
    },
    {
      verb: 'enable',
      operation: 'update_intent',
      about: 'look at it again',
      args: ['<id>'],
      fixed: { enabled: true },
      says: (item, now) => `intent ${item.id} enabled, looked at ${relative(item.next_check, now)}`,
    },
    {
      verb: 'disable',
      operation: 'update_intent',
      about: 'look at it no more',
      args: ['<id>'],
      fixed: { enabled: false },
      says: (item) => `intent ${item.id} disabled`,
    },
    {
      verb: 'delete',
      operation: 'delete_intent',
      about: 'delete an intent; its history is kept',
      args: ['<id>'],
      says: (_, __, given) => `intent ${given.id} deleted`,
    },
    {
      verb: 'history',
      operation: 'list_intent_executions',
      about: 'what came of it each time, newest first',
      args: ['<id>'],
      fields: [LIMIT, number('offset', 'leave out so many')],
      none: 'it was never looked at',
      columns: [
        when('executed_at', 'when'),
        status(),
        column('repeats', 'times'),
        wide('message_preview', 'message'),
        wide('gate_result', 'gate'),
        wide('error_message', 'error'),
      ],
    },
  ],
}

const OUTPUTS = [
  column('run_number', 'run'),
  status(),
  when('started_at', 'started'),
  when('completed_at', 'ended'),
  wide('title'),
  wide('progress_note', 'note'),
  wide('error_message', 'error'),
]

function workLine(item: Item, now: number): string {
  const next = relative(item.next_run_at, now)
  return `work ${item.id} ${item.is_active ? 'runs' : 'rests'}: ${item.description}${next === '' ? '' : `, next ${next}`}`
}

const work: Resource = {
  name: 'work',
  about: 'tasks that run once, or again and again',
  rows: [
    {
      verb: 'list',
      operation: 'list_work',
      about: 'work, newest first',
      fields: [
        ...PAGED,
        text('active', 'true or false'),
        text('project_id', 'of this project', 'project'),
      ],
      none: 'no work',
      columns: [
        column('id'),
        status('is_active', 'active'),
        when('next_run_at', 'next'),
        when('last_run_at', 'last'),
        column('agent_type', 'type'),
        wide('description', 'when'),
        wide('task'),
      ],
    },
    {
      verb: 'show',
      operation: 'get_work',
      about: 'one work with its newest outputs',
      args: ['<id>'],
      at: 'work',
      below: { at: 'outputs', columns: OUTPUTS },
    },
    {
      verb: 'create',
      operation: 'create_work',
      about: 'have something done: wakeful work create "summarise the news" --type research',
      args: ['<task>'],
      fields: [
        text('agent_type', 'which executor does it', 'type'),
        text('frequency', 'once, "daily at 9am", or cron'),
        TIMEZONE,
        flag('run_first', 'recurring work does not also run at once', 'no-run-first'),
        text('project_id', 'of which project', 'project'),
        json('parameters', 'for the executor'),
        text('user_id', 'whose it is', 'user'),
      ],
      at: 'work',
      says: workLine,
      waits: true,
    },
    {
      verb: 'run',
      operation: 'run_work',
      about: 'run it now, besides its schedule',
      args: ['<id>'],
      says: (item) => `run ${valueAt(item, 'output.run_number')} waits its turn`,
      waits: true,
    },
    {
      verb: 'pause',
      operation: 'update_work',
      about: 'stop its schedule',
      args: ['<id>'],
      fixed: { is_active: false },
      at: 'work',
      says: workLine,
    },
    {
      verb: 'resume',
      operation: 'update_work',
      about: 'take up its schedule again',
      args: ['<id>'],
      fixed: { is_active: true },
      at: 'work',
      says: workLine,
    },
    {
      verb: 'outputs',
      operation: 'list_work_outputs',
      about: 'what its runs produced, newest first',
      args: ['<id>'],
      fields: PAGED,
      none: 'it never ran',
      columns: OUTPUTS,
    },
    {
      verb: 'output',
      operation: 'get_work_output',
      about: 'what one run produced',
      args: ['<id>', '<run_number>'],
    },
    {
      verb: 'delete',
      operation: 'delete_work',
      about: 'delete it with its outputs',
      args: ['<id>'],
      says: (_, __, given) => `work ${given.id} deleted`,
    },
  ],
}

const TIMERS = [column('timer_id', 'timer'), status(), when('fire_at', 'fires'), wide('payload')]

const sessions: Resource = {
  name: 'sessions',
  about: 'conversations with agents, and what became of them',
  rows: [
    {
      verb: 'list',
      operation: 'list_sessions',
      about: 'sessions, newest first',
      fields: PAGED,
      none: 'no sessions',
      columns: [
        column('session_key', 'session'),
        column('last_seq', 'events'),
        column('done_seq', 'done'),
        column('consecutive_autonomous_msgs', 'unasked'),
        column('gate', 'may speak', {
          text: (item) =>
            valueAt(item, 'gate.allowed') ? 'yes' : String(valueAt(item, 'gate.reason')),
        }),
        when('updated_at', 'changed'),
      ],
    },
    {
      verb: 'show',
      operation: 'get_session',
      about: 'how far it is, and whether the agent may speak unasked',
      args: ['<session_key>'],
      below: { at: 'timers', columns: TIMERS },
    },
    {
      verb: 'send',
      operation: 'post_message',
      about: 'say something to the agent',
      args: ['<session_key>', '<text>'],
      fields: [text('id', 'saying it again with this id does nothing')],
      at: 'event',
      says: (item) => `event ${item.seq} of ${item.session_key}`,
    },
    {
      verb: 'events',
      operation: 'list_events',
      about: 'its log',
      args: ['<session_key>'],
      fields: [...PAGED, number('after_seq', 'only those after this one')],
      none: 'no events',
      columns: [column('seq'), column('type'), when('created_at', 'when'), wide('payload')],
    },
    {
      verb: 'effects',
      operation: 'list_effects',
      about: 'what turns asked for, and whether it was delivered',
      args: ['<session_key>'],
      fields: [...PAGED, text('status', 'pending, executing, completed or failed')],
      none: 'no effects',
      columns: [
        column('id'),
        column('type'),
        status(),
        column('attempt_count', 'tries'),
        when('created_at', 'when'),
        wide('payload'),
      ],
    },
    {
      verb: 'turns',
      operation: 'list_turns',
      about: 'every attempt of the agent',
      args: ['<session_key>'],
      fields: PAGED,
      none: 'no turns',
      columns: [
        column('event_seq', 'event'),
        column('attempt'),
        status(),
        when('started_at', 'when'),
        column('effect_ids', 'effects', {
          text: (item) => String((item.effect_ids as unknown[] | undefined)?.length ?? 0),
        }),
        wide('verdicts'),
        wide('error'),
      ],
    },
    {
      verb: 'timers',
      operation: 'list_timers',
      about: 'what it waits for',
      args: ['<session_key>'],
      fields: [...PAGED, text('status', 'pending, promoted or cancelled')],
      none: 'no timers',
      columns: TIMERS,
    },
    {
      verb: 'cancel-timer',
      operation: 'cancel_timer',
      about: 'cancel a timer that is pending',
      args: ['<session_key>', '<timer_id>'],
      says: (item) => `timer ${item.timer_id} ${item.status}`,
    },
  ],
}

export const RESOURCES: readonly Resource[] = [alarms, intents, work, sessions]
