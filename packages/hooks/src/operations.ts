/** Hooks: made, listed and removed. What is posted to them is taken in `receive.ts`. */
import { z } from 'zod'
import { listQuery, operation, pageFrom, pageOf } from '../../../src/api/contract.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { keyPart } from '../../../src/core/fields.ts'
import { countHooks, deleteHook, getHook, type HookRow, listHooks, saveHook } from './rows.ts'
import { newSecret, SCHEMES, SECRET_MAX, secretError } from './signature.ts'

const OLD_SECRET_MS = 24 * 3_600_000
const HOOKS_MAX = 1_000

const params = z.object({ name: keyPart.describe('The name of its events.') })

const view = z.object({
  name: z.string(),
  user_id: z.string().nullable().describe('Whom its events reach; null: everybody.'),
  scheme: z.enum(SCHEMES),
  old_secret_until: z.iso
    .datetime()
    .nullable()
    .describe('Until then the secret before is taken, too.'),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  words: z.string(),
})

function viewOf(row: HookRow, did = '') {
  const { name, user_id, scheme, created_at, updated_at, old_secret_until: until, now } = row
  const whom = user_id === null ? 'everybody' : user_id
  const isOld = until !== null && until > now
  return {
    ...{ name, user_id, scheme, old_secret_until: isOld ? until : null, created_at, updated_at },
    words: `The hook ${name}${did} takes events signed by the scheme ${scheme} at POST /v1/hooks/${name}, for ${whom}.`,
  }
}

const notFound = (name: string) => new Refusal('not_found', `there is no hook ${name}`)

const ROLES = ['admin', 'service'] as const

const putHook = operation({
  name: 'put_hook',
  method: 'PUT',
  path: '/v1/hooks/{name}',
  tag: 'Hooks',
  summary: 'Take signed events from outside under this name, or change how',
  description:
    'What is posted to `POST /v1/hooks/{name}` becomes a signal of kind event with that name. A given secret is kept; else one is made and shown this once. What is left out stays as it is.',
  params,
  body: z.object({
    user_id: keyPart.nullish().describe('Whom its events reach; null: everybody.'),
    scheme: z
      .enum(SCHEMES)
      .optional()
      .describe(
        'standard (Standard Webhooks, by default), github (x-hub-signature-256) or stripe.',
      ),
    secret: z.string().min(1).max(SECRET_MAX).optional().describe('By which they sign.'),
    rotate: z
      .boolean()
      .optional()
      .describe('Another secret takes the place of the old one, which is taken for 24 hours more.'),
  }),
  owner: 'nobody',
  roles: ROLES,
  output: view.extend({ secret: z.string().optional().describe('Shown once.') }),
  run: (ctx, { params: { name }, body }) =>
    ctx.db.tx(async (tx) => {
      const known = await getHook(tx, name, true)
      if (known === null && (await countHooks(tx)) >= HOOKS_MAX)
        throw new Refusal('conflict', `there are ${HOOKS_MAX} hooks already; delete one first`)
      const scheme = body.scheme ?? known?.scheme ?? 'standard'
      const isMade = body.secret === undefined && (known === null || body.rotate === true)
      const secret = body.secret ?? (isMade ? newSecret(scheme) : (known?.secret ?? ''))
      const wrong = secretError(scheme, secret)
      if (wrong !== null)
        throw new Refusal(
          'rule',
          body.secret === undefined ? `${wrong}; give one, or rotate` : wrong,
        )
      const row = await saveHook(tx, {
        ...{ name, scheme, secret, oldSecretMs: body.rotate === true ? OLD_SECRET_MS : null },
        userId: body.user_id === undefined ? (known?.user_id ?? null) : body.user_id,
      })
      const seen = viewOf(row, known === null ? ' was made and' : ' was changed and')
      return { body: isMade ? { ...seen, secret } : seen, again: seen, about: { id: name } }
    }),
})

const listHooksOp = operation({
  name: 'list_hooks',
  method: 'GET',
  path: '/v1/hooks',
  tag: 'Hooks',
  summary: 'Hooks, in the order of their names',
  query: listQuery({ max: 500, default: 100, cursor: z.tuple([z.string()]) }),
  owner: 'nobody',
  roles: ROLES,
  output: pageOf(view),
  async run(ctx, { query }) {
    const rows = await listHooks(ctx.db, query.cursor?.[0] ?? null, query.limit + 1)
    return pageFrom(rows, query.limit, { at: (row) => [row.name], view: (row) => viewOf(row) })
  },
})

const getHookOp = operation({
  name: 'get_hook',
  method: 'GET',
  path: '/v1/hooks/{name}',
  tag: 'Hooks',
  summary: 'One hook, without its secret',
  params,
  owner: 'nobody',
  roles: ROLES,
  output: view,
  async run(ctx, { params: { name } }) {
    const row = await getHook(ctx.db, name)
    if (row === null) throw notFound(name)
    return { body: viewOf(row) }
  },
})

const deleteHookOp = operation({
  name: 'delete_hook',
  method: 'DELETE',
  path: '/v1/hooks/{name}',
  tag: 'Hooks',
  summary: 'Remove a hook; what is posted to it from then on is 404',
  params,
  status: 204,
  owner: 'nobody',
  roles: ROLES,
  output: null,
  async run(ctx, { params: { name } }) {
    if (await deleteHook(ctx.db, name)) return { body: null, about: { id: name } }
    throw notFound(name)
  },
})

export const hooks = [putHook, listHooksOp, getHookOp, deleteHookOp]
