/** Commands about alarms. */
import {
  column,
  json,
  number,
  PAGED,
  type Resource,
  status,
  TIMEZONE,
  text,
  when,
  wide,
} from '../row.ts'
import type { Item } from '../table.ts'

/** What the flags of an alarm say together: which kind it is. */
function kindOf(input: Item): Item {
  if (input.kind !== undefined || input.schedule !== undefined) return input
  if (input.cron_expr !== undefined) return { kind: 'cron', ...input }
  if (input.fire_at !== undefined || input.delay_seconds !== undefined)
    return { kind: 'once', ...input }
  return input
}

export const alarms: Resource = {
  name: 'alarms',
  about: 'what agents are to be woken for',
  rows: [
    {
      verb: 'list',
      operation: 'list_alarms',
      about: 'alarms, newest first',
      fields: [...PAGED, text('status', 'active, paused, fired, cancelled or failed')],
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
        text('spread', 'later by less than so long, the same each time: "10 minutes"'),
        text('label', 'a name for it'),
        text('agent_id', 'who is woken', 'agent'),
        text('conversation_id', 'where', 'conversation'),
        json('payload', 'handed back with the wake'),
        text('idempotency_key', 'setting it again with this key does nothing'),
        number('max_failures', 'attempts at one wake'),
      ],
      complete: kindOf,
    },
    {
      verb: 'cancel',
      operation: 'cancel_alarm',
      about: 'cancel an alarm; one that has ended stays as it is',
      args: ['<id>'],
    },
    {
      verb: 'update',
      operation: 'update_alarm',
      about: 'change one: wakeful alarms update <id> --schedule "tomorrow at 9am"',
      args: ['<id>'],
      fields: [
        text('schedule', 'when: "tomorrow at 9am"'),
        text('fire_at', 'when: an instant', 'at'),
        text('cron_expr', 'when: five cron fields, or "@every 5m"', 'cron'),
        TIMEZONE,
        text('spread', 'later by less than so long, the same each time: "10 minutes"'),
        text('wake_message', 'what the agent is told when it wakes', 'message'),
        text('label', 'a name for it'),
        json('payload', 'handed back with the wake'),
      ],
    },
    {
      verb: 'pause',
      operation: 'pause_alarm',
      about: 'it does not wake until it is resumed',
      args: ['<id>'],
    },
    {
      verb: 'resume',
      operation: 'resume_alarm',
      about: 'go on with its next time',
      args: ['<id>'],
    },
    {
      verb: 'retry',
      operation: 'retry_alarm',
      about: 'make one that has ended active again, due now',
      args: ['<id>'],
    },
    {
      verb: 'fire-now',
      operation: 'fire_alarm_now',
      about: 'wake now, besides its schedule',
      args: ['<id>'],
    },
  ],
}
