/** Commands about work and its outputs. */
import {
  column,
  flag,
  json,
  PAGED,
  type Resource,
  relative,
  status,
  TIMEZONE,
  text,
  valueAt,
  when,
  wide,
} from '../row.ts'
import type { Item } from '../table.ts'

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

export const work: Resource = {
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
