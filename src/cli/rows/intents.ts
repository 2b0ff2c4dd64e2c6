/** Commands about intents. */
import { newIntentFields } from '../../core/intents/fields.ts'
import {
  column,
  fieldsOf,
  LIMIT,
  number,
  type Resource,
  relative,
  status,
  text,
  when,
  wide,
} from '../row.ts'

export const intents: Resource = {
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
        ...fieldsOf(newIntentFields, {
          ...{ intent_name: null, enabled: null },
          ...{ trigger_type: 'type', trigger_schedule: 'schedule', trigger_condition: 'condition' },
          ...{ action_type: 'action', action_context: 'context', action_priority: 'priority' },
          ...{ agent_id: 'agent', thread_id: 'thread' },
        }),
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
