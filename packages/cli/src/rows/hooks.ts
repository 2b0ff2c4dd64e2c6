/** Commands about hooks: where other servers post signed events. */
import { column, flag, PAGED, type Resource, text, when, wide } from '../row.ts'

export const hooks: Resource = {
  name: 'hooks',
  about: 'where other servers post signed events that conditions wait for',
  rows: [
    {
      verb: 'set',
      operation: 'put_hook',
      about: 'make or change one: wakeful hooks set shop --scheme stripe --secret whsec_…',
      args: ['<name>'],
      fields: [
        text('scheme', 'standard (Standard Webhooks), github or stripe'),
        text('secret', 'by which they sign; else one is made and shown this once'),
        text('user_id', 'whom its events reach; everybody by default', 'user'),
        flag('rotate', 'another secret; the old one is taken for 24 hours more'),
      ],
    },
    {
      verb: 'list',
      operation: 'list_hooks',
      about: 'hooks, by name',
      fields: PAGED,
      none: 'no hooks',
      columns: [
        column('name'),
        column('scheme'),
        column('user_id', 'user'),
        when('updated_at', 'changed'),
        wide('words'),
      ],
    },
    {
      verb: 'show',
      operation: 'get_hook',
      about: 'one hook, without its secret',
      args: ['<name>'],
    },
    {
      verb: 'delete',
      operation: 'delete_hook',
      about: 'remove one',
      args: ['<name>'],
      done: 'The hook $name is removed.',
    },
  ],
}
