/** Agents: who runs here, and remote ones that take their turns over signed HTTP calls. */
import { z } from 'zod'
import {
  type Actor,
  type Answer,
  type Context,
  listQuery,
  notify,
  operation,
  page,
  pageOf,
} from '../../api/contract.ts'
import { agentUrlRefusal } from '../../core/calls/address.ts'
import { isWebhookSecret, newWebhookSecret, SECRET_FORM } from '../../core/calls/signature.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart } from '../../core/fields.ts'
import { KEY_PART_MAX } from '../../core/session.ts'
import {
  type AgentRow,
  getAgent,
  insertAgent,
  listAgents,
  removeAgent,
  updateAgent,
} from './agent-rows.ts'
import { figuresOf, figuresSchema, mergedFigures } from './figure-operations.ts'

const TIMEOUT_MS = 60_000
const TIMEOUT_MS_MIN = 1_000
const TIMEOUT_MS_MAX = 600_000
const URL_MAX = 2_000

const url = z
  .string()
  .max(URL_MAX)
  .refine((text) => URL.canParse(text), 'must be an https:// URL')
  .describe('Where turns are posted to. Its address is checked again at every call.')
const secret = z
  .string()
  .refine(isWebhookSecret, `must be ${SECRET_FORM}`)
  .describe('Signs every call (Standard Webhooks).')
const timeout = z.int().min(TIMEOUT_MS_MIN).max(TIMEOUT_MS_MAX)

const view = z.object({
  id: z.string(),
  kind: z.string().describe('remote, or how an agent of this process was made'),
  url: z.string().optional(),
  timeout_ms: z.int(),
  user_id: z.string().optional().describe('Whose it is; absent: everybody’s.'),
  enabled: z.boolean(),
  created_at: z.iso.datetime().optional(),
  updated_at: z.iso.datetime().optional(),
})

function viewOf(row: AgentRow) {
  return {
    id: row.id,
    kind: 'remote',
    url: row.url,
    timeout_ms: row.timeout_ms,
    user_id: row.user_id ?? undefined,
    enabled: row.enabled,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

const changed = view.extend({ words: z.string() })
const changedOf = (row: AgentRow) => ({
  ...viewOf(row),
  words: `Agent ${row.id} takes its turns at ${row.url}${row.enabled ? '' : ' once it is switched on'}.`,
})

function ownViews(ctx: Context) {
  return ctx.kernel.app.runtime.own.map(({ id, kind, timeoutMs }) => ({
    ...{ id, kind },
    timeout_ms: timeoutMs,
    enabled: true,
  }))
}

const scopeOf = ({ userId }: Actor) => ({ userId })
/** Anything else names nothing. */
const params = z.object({ agent_id: z.string() })

function notFound(id: string): Refusal {
  return new Refusal('not_found', `there is no agent ${id.slice(0, KEY_PART_MAX)} here`)
}

/** An agent of this process is part of the app: it changes with the app, not by a request. */
function refuseOwn(ctx: Context, id: string): void {
  if (!ctx.kernel.app.runtime.own.some((own) => own.id === id)) return
  throw new Refusal('conflict', `${id} is an agent of this process, not a remote one`)
}

function urlErrors(ctx: Context, text: string): string[] {
  const refusal = agentUrlRefusal(text, ctx.kernel.app.config.allowPrivateWebhooks)
  return refusal === null ? [] : [`url: may not be called: ${refusal}`]
}

/** The body's user, else the one acted for, else everybody's. Acting for one user makes nothing for another. */
function ownerOf(actor: Actor, named: string | undefined): string | null {
  if (named !== undefined && actor.userId !== null && named !== actor.userId)
    throw new Refusal('forbidden', `these credentials act for ${actor.userId}, not for ${named}`)
  return named ?? actor.userId
}

const registerAgent = operation({
  name: 'register_agent',
  method: 'POST',
  path: '/v1/agents',
  tag: 'Agents',
  summary: 'Register an agent that runs elsewhere',
  description:
    'Its turns are signed POSTs to `url`; the answer carries state and effects. The secret is shown once, here.',
  body: z.object({
    id: keyPart.describe('Its name in session keys.'),
    url,
    secret: secret.optional().describe('Given, or made here.'),
    timeout_ms: timeout.default(TIMEOUT_MS),
    user_id: keyPart.optional(),
    enabled: z.boolean().default(true),
  }),
  status: 201,
  creates: true,
  owner: 'nobody',
  roles: ['admin', 'service'],
  output: changed.extend({ secret: z.string() }),
  async run(ctx, { body }) {
    const userId = ownerOf(ctx.actor, body.user_id)
    const errors = urlErrors(ctx, body.url)
    if (errors.length > 0) throw new Refusal('rule', errors)
    const taken = new Refusal('conflict', `there is an agent ${body.id} already`)
    if (ctx.kernel.app.runtime.own.some((own) => own.id === body.id)) throw taken
    if (ctx.kernel.work.types.includes(body.id))
      throw new Refusal('conflict', `${body.id} is the name of an executor of work`)
    const row = await insertAgent(ctx.db, {
      id: body.id,
      url: body.url,
      secret: body.secret ?? newWebhookSecret(),
      timeoutMs: body.timeout_ms,
      userId,
      enabled: body.enabled,
    })
    if (row === null) throw taken
    return known(ctx, { body: { ...changedOf(row), secret: row.secret }, about: { id: row.id } })
  },
})

/** This process knows it by the time it answers: the change is there to be read once it has committed. */
function known(ctx: Context, answer: Answer): Answer {
  return {
    ...answer,
    later: async () => {
      await ctx.kernel.agents.refresh()
      return answer
    },
  }
}

const listAgentsOp = operation({
  name: 'list_agents',
  method: 'GET',
  path: '/v1/agents',
  tag: 'Agents',
  summary: 'All agents by name: those of this process and remote ones',
  query: listQuery({ max: 500, default: 100, cursor: z.tuple([z.string().max(KEY_PART_MAX)]) }),
  owner: 'nobody',
  roles: ['admin', 'service'],
  output: pageOf(view),
  async run(ctx, { query }) {
    const [after] = query.cursor ?? [null]
    const limit = query.limit + 1
    const rows = await listAgents(ctx.db, scopeOf(ctx.actor), { after, limit })
    const own = ownViews(ctx)
    const names = new Set(own.map((each) => each.id))
    // One that was registered before this process had an agent of that name stays in its shadow.
    const remote = rows.filter((row) => !names.has(row.id)).map(viewOf)
    const all = [...own.filter((each) => after === null || each.id > after), ...remote]
    all.sort((a, b) => (a.id < b.id ? -1 : 1))
    const shown = all.slice(0, query.limit)
    const more = all.length > query.limit || rows.length === limit
    return { body: page(shown, more ? [shown.at(-1)?.id] : null) }
  },
})

const getAgentOp = operation({
  name: 'get_agent',
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  tag: 'Agents',
  summary: 'One agent, and how it does',
  params,
  across: mergedFigures,
  owner: 'nobody',
  roles: ['admin', 'service'],
  output: view.extend({ figures: figuresSchema }),
  async run(ctx, { params: { agent_id: id } }) {
    const own = ownViews(ctx).find((each) => each.id === id)
    const row = own ?? (await getAgent(ctx.db.home ?? ctx.db, scopeOf(ctx.actor), id))
    if (row === null) throw notFound(id)
    const shown = 'url' in row ? viewOf(row) : row
    return { body: { ...shown, figures: await figuresOf(ctx, id) } }
  },
})

const updateAgentOp = operation({
  name: 'update_agent',
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  tag: 'Agents',
  summary: 'Change a remote agent, or switch it off and on',
  description:
    'While it is switched off, what is meant for it waits. A new secret counts from the next call on.',
  params,
  body: z.object({
    url: url.optional(),
    secret: secret.optional(),
    timeout_ms: timeout.optional(),
    enabled: z.boolean().optional(),
  }),
  owner: 'nobody',
  roles: ['admin', 'service'],
  output: changed,
  async run(ctx, { params, body }) {
    refuseOwn(ctx, params.agent_id)
    const errors = body.url === undefined ? [] : urlErrors(ctx, body.url)
    if (errors.length > 0) throw new Refusal('rule', errors)
    const row = await updateAgent(ctx.db, scopeOf(ctx.actor), params.agent_id, {
      url: body.url ?? null,
      secret: body.secret ?? null,
      timeoutMs: body.timeout_ms ?? null,
      enabled: body.enabled ?? null,
    })
    if (row === null) throw notFound(params.agent_id)
    notify(ctx, 'turns')
    return known(ctx, { body: changedOf(row) })
  },
})

const removeAgentOp = operation({
  name: 'remove_agent',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  tag: 'Agents',
  summary: 'Remove a remote agent',
  description:
    'A turn that runs may finish. What waits for it, and what becomes due later, fails at once and says so.',
  params,
  status: 204,
  owner: 'nobody',
  roles: ['admin', 'service'],
  output: null,
  async run(ctx, { params }) {
    refuseOwn(ctx, params.agent_id)
    const removed = await removeAgent(ctx.db, scopeOf(ctx.actor), params.agent_id)
    if (!removed) throw notFound(params.agent_id)
    notify(ctx, 'turns')
    return known(ctx, { body: null })
  },
})

export const agents = [registerAgent, listAgentsOp, getAgentOp, updateAgentOp, removeAgentOp]
