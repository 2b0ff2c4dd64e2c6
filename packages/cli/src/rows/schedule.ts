/** Commands about schedules of all kinds. */
import {
  column,
  type Field,
  flag,
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

const WHOSE = [text('user_id', 'whose', 'user'), text('agent_id', 'of which agent', 'agent')]

const SPEC = [
  text('in', 'how long from now: "20 minutes", or seconds'),
  text('at', 'once: "tomorrow at 9am", or an instant'),
  text('every', 'again and again: "weekday at 8:30", "2 hours", or cron'),
  json('when', 'a condition: {"price":"NVDA","below":130}'),
  text('note', 'what the agent is told then'),
  json('data', 'handed back with the event'),
  flag('cancel_on_reply', 'the next message of the person cancels it'),
  text('run', 'work for this executor instead of a wake'),
  json('with', 'parameters for the executor'),
  TIMEZONE,
  text('until', 'the last instant'),
  number('times', 'how often at most'),
  text('catch_up', 'once, skip or all'),
  text('spread', 'later by less than so long, the same each time: "10 minutes"'),
  text('priority', 'low, normal, high or critical'),
  text('thread_id', 'the conversation', 'thread'),
]

/** `--in 60` is a number of seconds, as everywhere. */
const inSeconds = (input: Item): Item =>
  /^\d{1,15}(\.\d{1,3})?$/.test(String(input.in ?? '')) ? { ...input, in: Number(input.in) } : input

/** By its name, or by the ref that the list shows. */
const one = (verb: string, operation: string, about: string, fields: readonly Field[] = []) => ({
  ...{ verb, operation, about },
  args: ['<ref>'],
  fields: [...fields, ...WHOSE],
  complete: inSeconds,
})

export const schedule: Resource = {
  name: 'schedule',
  about: 'what wakes agents later: at a time, again and again, or on a condition',
  rows: [
    {
      verb: 'set',
      operation: 'put_schedule',
      about: 'set or replace: wakeful schedule set dentist --at "tomorrow at 9am" --note "call"',
      args: ['<name>'],
      fields: [...SPEC, ...WHOSE],
      complete: inSeconds,
    },
    {
      verb: 'list',
      operation: 'list_schedules',
      about: 'all kinds, soonest first',
      fields: [
        ...PAGED,
        ...WHOSE,
        text('kind', 'timer, alarm, intent or work'),
        text('status', 'active, paused, done or failed'),
        text('q', 'in the name or the note'),
      ],
      none: 'nothing is scheduled',
      columns: [
        column('ref'),
        column('kind'),
        status(),
        when('next_at', 'next'),
        wide('description', 'when'),
        column('agent_id', 'agent'),
        wide('note'),
      ],
    },
    one('change', 'update_schedule', 'what is left out stays as it is', SPEC),
    one('pause', 'pause_schedule', 'nothing of it fires until it is resumed'),
    one('resume', 'resume_schedule', 'go on with its next time'),
    one('run', 'run_schedule', 'run it now, besides its own times'),
    one('cancel', 'delete_schedule', 'remove it'),
  ],
}
