/** The audit log, to be read by admins. */
import { z } from 'zod'
import { listQuery, mergedPages, operation, pageFrom, pageOf } from '../../api/contract.ts'
import { listAudit } from './audit-rows.ts'

const FILTERS = ['owner', 'operation', 'actor_key', 'object_id'] as const
const FILTER_MAX = 300

const entry = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  actor_key: z.string().nullable(),
  actor_role: z.string(),
  actor_user: z.string().nullable(),
  acted_for: z.boolean(),
  operation: z.string(),
  object_id: z.string().nullable(),
  owner: z.string().nullable(),
  request_id: z.string(),
  summary: z.string(),
})

const filter = z.string().min(1).max(FILTER_MAX).optional()

export const audit = [
  operation({
    name: 'list_audit',
    method: 'GET',
    path: '/v1/audit',
    tag: 'Keys',
    summary: 'Every change that was made through an operation, newest first: who, what, whose',
    description:
      'The summary names the fields that were given, never their values. Kept as long as WAKEFUL_KEEP_DAYS says.',
    query: listQuery({ max: 500, default: 100 }).extend({
      owner: filter,
      operation: filter,
      actor_key: filter,
      object_id: filter,
    }),
    across: mergedPages,
    owner: 'nobody',
    roles: ['admin'],
    output: pageOf(entry),
    async run(ctx, { query }) {
      const where = Object.fromEntries(
        FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
      )
      const rows = await listAudit(ctx.db, {
        where,
        limit: query.limit + 1,
        after: query.cursor ?? null,
      })
      return pageFrom(rows, query.limit, {
        at: (row) => [row.at_text, row.id],
        view: ({ at_text: _, ...row }) => row,
      })
    },
  }),
]
