/** Commands about sessions: their heads, logs, turns, effects and timers. */
import { column, number, PAGED, type Resource, status, text, valueAt, when, wide } from '../row.ts'

const TIMERS = [column('timer_id', 'timer'), status(), when('fire_at', 'fires'), wide('payload')]

export const sessions: Resource = {
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
        column('consecutive_autonomous_msgs', 'unanswered'),
        column('gate', 'may follow up', {
          text: (item) =>
            valueAt(item, 'gate.allowed') ? 'yes' : String(valueAt(item, 'gate.reason')),
        }),
        when('updated_at', 'changed'),
      ],
    },
    {
      verb: 'show',
      operation: 'get_session',
      about: 'how far it is, and whether the agent may write on its own',
      args: ['<session_key>'],
      below: { at: 'timers', columns: TIMERS },
    },
    {
      verb: 'send',
      operation: 'post_message',
      about: 'say something to the agent',
      args: ['<session_key>', '<text>'],
      fields: [text('id', 'saying it again with this id does nothing')],
      done: 'event $event.seq of $session_key',
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
        column('reason'),
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
    },
  ],
}
