/** Commands about the switch: wakeful stop agent bot; wakeful stops list, release, drop. */
import { column, flag, PAGED, type Resource, text, when, wide } from '../row.ts'

const REASON = text('reason', 'for those who find it')

const LEVELS = [
  ['agent', 'an agent, for everybody', ['<target>']],
  ['user', 'a person: whatever is done for them', ['<target>']],
  ['trigger', 'one alarm, intent or work, by its id', ['<target>']],
  ['everything', 'everything, in every process', []],
] as const

export const stop: Resource = {
  name: 'stop',
  about: 'emergency stop: takes effect within one second on every shard; what becomes due is held',
  rows: LEVELS.map(([level, about, args]) => ({
    verb: level,
    operation: 'stop',
    about: `stop ${about}`,
    args,
    fields: [REASON],
    fixed: { level },
  })),
}

export const stops: Resource = {
  name: 'stops',
  about: 'list stops and what they hold; resume or drop them',
  rows: [
    {
      verb: 'list',
      operation: 'list_stops',
      about: 'what is stopped, newest first',
      fields: [...PAGED, flag('ended', 'those that have ended, too')],
      none: 'nothing is stopped',
      columns: [
        column('id'),
        column('level'),
        column('target'),
        wide('reason'),
        when('created_at', 'since'),
        column('ended'),
      ],
    },
    {
      verb: 'show',
      operation: 'get_stop',
      about: 'a stop, and what it holds',
      args: ['<id>'],
      below: {
        at: 'held',
        columns: [wide('session_key', 'session'), column('kind'), column('waiting'), when('since')],
      },
    },
    {
      verb: 'resume',
      operation: 'resume_stop',
      about: 'end it: what it held runs',
      args: ['<id>'],
    },
    {
      verb: 'drop',
      operation: 'drop_stop',
      about: 'end it without running what it held',
      args: ['<id>'],
    },
  ],
}
