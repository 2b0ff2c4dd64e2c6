/** One-use links that connect a Telegram chat with a session: `/v1/links` for one session, by its key. */

import { z } from 'zod'
import {
  type Context,
  listQuery,
  operation,
  pageFrom,
  pageOf,
} from '../../../../src/api/contract.ts'
import { Refusal } from '../../../../src/core/errors.ts'
import { keyPart, sessionKey } from '../../../../src/core/fields.ts'
import { sessionOf, sessionParams } from '../../../../src/features/sessions/ref-operations.ts'
import type { PushChannel } from '../../../../src/kernel/channel.ts'
import { type LinkRow, linkOfSession, listLinks, unlink } from '../../hub/src/link-rows.ts'
import { linkedSession, newCode } from '../../hub/src/operations.ts'

const CHANNEL = 'telegram'

const body = z.object({
  session_key: sessionKey
    .optional()
    .describe('Left out: the thread "telegram" of the user with the agent that chats talk to.'),
  user_id: keyPart
    .optional()
    .describe('Whose, where no session is named and the credentials do not say.'),
})

/** What these operations use of the bot. */
export interface Bot {
  /** The agent of links without a session; null: the only agent. */
  readonly agentId: string | null
}

function botOf({ kernel }: Context): Bot & { channel: PushChannel } {
  const bot = kernel.app.packs.own[CHANNEL] as Bot | undefined
  const channel = kernel.channels.get(CHANNEL)
  if (bot === undefined || channel === undefined)
    throw new Refusal('conflict', 'Telegram is not set up here: set TELEGRAM_BOT_TOKEN')
  return { ...bot, channel }
}

const createLink = operation({
  name: 'create_telegram_link',
  method: 'POST',
  path: '/v1/telegram/links',
  tag: 'Telegram',
  summary: 'A link that connects a Telegram chat with a session',
  description:
    'The first person to open it within 15 minutes gets the session’s messages and may write in it. A new link ends earlier unused ones.',
  body,
  // No Idempotency-Key: a repeated answer would need the code, and only its hash is stored.
  status: 201,
  owner: 'body',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.object({
    session_key: z.string(),
    code: z.string(),
    url: z.string(),
    expires_at: z.iso.datetime(),
  }),
  async run(ctx, { body }) {
    const { agentId, channel } = botOf(ctx)
    const setting = 'TELEGRAM_AGENT'
    const session = linkedSession(ctx, body, { name: CHANNEL, agentId, setting })
    const { words: _, ...made } = await newCode(ctx, session, channel, false)
    return { body: made }
  },
})

const view = z.object({
  session_key: z.string(),
  chat_id: z.int(),
  created_at: z.iso.datetime(),
})

const viewOf = ({ session_key, address, created_at }: LinkRow) => ({
  session_key,
  chat_id: Number(address),
  created_at,
})

const listLinksOp = operation({
  name: 'list_telegram_links',
  method: 'GET',
  path: '/v1/telegram/links',
  tag: 'Telegram',
  summary: 'Which chats stand for which sessions, by session',
  query: listQuery({ max: 500, default: 100, cursor: z.tuple([sessionKey, z.uuid()]) }),
  owner: 'caller',
  roles: ['admin', 'service', 'user'],
  output: pageOf(view),
  async run(ctx, { query }) {
    const { limit, cursor } = query
    const { userId } = ctx.actor
    const after = cursor ?? null
    const wanted = { userId, channel: CHANNEL, ended: false, after, limit: limit + 1 }
    const rows = await listLinks(ctx.db, wanted)
    return pageFrom(rows, limit, { at: (row) => [row.session_key, row.id], view: viewOf })
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
  owner: 'path',
  roles: ['admin', 'service', 'user'],
  output: null,
  async run(ctx, { params }) {
    const session = sessionOf(ctx.actor, params.session_key)
    const link = await linkOfSession(ctx.db, session, CHANNEL)
    if (link === null) throw new Refusal('not_found', `no chat is linked to ${session.key}`)
    await unlink(ctx.db, link, null)
    return { body: null }
  },
})

export const operations = [createLink, listLinksOp, deleteLink]
