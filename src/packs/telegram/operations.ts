/** Telegram: a one-use link by which a chat comes to stand for a session. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type Context, listQuery, operation, page, pageOf } from '../../api/contract.ts'
import { requireAgent, sessionNotFound, sessionOf, sessionParams } from '../../api/sessions/ref.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, sessionKey } from '../../core/fields.ts'
import type { SessionRef } from '../../core/sessions/session.ts'
import { CHANNEL, createCode, type LinkRow, listLinks, unlinkSession } from './links.ts'
import { codeHash } from './text.ts'

const CODE_TTL_MS = 15 * 60_000
/** 192 bits, in 32 of the characters a start parameter may have. */
const CODE_BYTES = 24
/** Where no session is named, the person's chat has a thread of its own. */
const THREAD = 'telegram'

const body = z.object({
  session_key: sessionKey
    .optional()
    .describe('Left out: the thread "telegram" of the user with the agent that chats talk to.'),
  user_id: keyPart
    .optional()
    .describe('Whose, where no session is named and the credentials do not say.'),
})
type Body = z.output<typeof body>

/** What these operations ask of the bot. */
export interface Bot {
  /** Who chats talk to where no session is named; null: the only agent there is. */
  readonly agentId: string | null
  username(): Promise<string>
}

function botOf(ctx: Context): Bot {
  const bot = ctx.app.packs[CHANNEL] as Bot | undefined
  if (bot === undefined)
    throw new Refusal('conflict', 'Telegram is not set up here: set TELEGRAM_BOT_TOKEN')
  return bot
}

function sessionFor(ctx: Context, body: Body): SessionRef {
  const { actor, app } = ctx
  const { agentId } = botOf(ctx)
  const [only, other] = app.agentIds
  const agent = actor.agentId ?? agentId ?? (other === undefined ? only : undefined)
  const user = actor.userId ?? body.user_id
  const errors: string[] = []
  if (body.session_key === undefined && user === undefined)
    errors.push('session_key: say which session, or whose with user_id')
  if (body.session_key === undefined && agent === undefined)
    errors.push('session_key: say which session; there are several agents and no TELEGRAM_AGENT')
  if (errors.length > 0) throw new Refusal('rule', errors)
  const session = sessionOf(actor, body.session_key ?? `${user}:${agent}:${THREAD}`)
  // A key that is bound to one agent hands out no way into another's conversations.
  if (actor.agentId !== null && actor.agentId !== session.agentId)
    throw sessionNotFound(session.key)
  requireAgent(ctx, session)
  return session
}

const createLink = operation({
  name: 'create_telegram_link',
  method: 'POST',
  path: '/v1/telegram/links',
  tag: 'Telegram',
  summary: 'A link that connects a Telegram chat with a session',
  description:
    'Whoever opens it first, within 15 minutes, gets the session’s messages and may speak in it. A new link ends earlier unused ones.',
  body,
  // No Idempotency-Key: answering again would need the code itself, and only its hash is kept.
  status: 201,
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({
    session_key: z.string(),
    code: z.string(),
    url: z.string(),
    expires_at: z.iso.datetime(),
  }),
  async run(ctx, { body }) {
    const bot = botOf(ctx)
    const session = sessionFor(ctx, body)
    const name = await bot.username()
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const expiresAt = await createCode(ctx.db, session, codeHash(code), CODE_TTL_MS)
    const url = `https://t.me/${name}?start=${code}`
    return { body: { session_key: session.key, code, url, expires_at: expiresAt } }
  },
})

const view = z.object({
  session_key: z.string(),
  chat_id: z.int(),
  created_at: z.iso.datetime(),
})

const viewOf = ({ session_key, chat_id, created_at }: LinkRow) => ({
  session_key,
  chat_id,
  created_at,
})

const listLinksOp = operation({
  name: 'list_telegram_links',
  method: 'GET',
  path: '/v1/telegram/links',
  tag: 'Telegram',
  summary: 'Which chats stand for which sessions, by session',
  query: listQuery({ max: 500, default: 100, cursor: z.tuple([sessionKey]) }),
  roles: ['admin', 'service', 'user'],
  output: pageOf(view),
  async run(ctx, { query }) {
    const [after] = query.cursor ?? [null]
    const rows = await listLinks(ctx.db, ctx.actor.userId, { after, limit: query.limit + 1 })
    const shown = rows.slice(0, query.limit)
    const more = rows.length > query.limit
    return { body: page(shown.map(viewOf), more ? [shown.at(-1)?.session_key] : null) }
  },
})

const deleteLink = operation({
  name: 'delete_telegram_link',
  method: 'DELETE',
  path: '/v1/telegram/links/{session_key}',
  tag: 'Telegram',
  summary: 'End the link of a session; what was not sent stays for its sockets',
  params: sessionParams,
  status: 204,
  roles: ['admin', 'service', 'user'],
  output: null,
  async run(ctx, { params }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const ended = await unlinkSession(ctx.db, session, null)
    if (!ended) throw new Refusal('not_found', `no chat is linked to ${session.key}`)
    return { body: null }
  },
})

export const operations = [createLink, listLinksOp, deleteLink]
