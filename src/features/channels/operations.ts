/** Links: where a person is reached beside their sockets. */

import { z } from 'zod'
import {
  type Context,
  flag,
  idParam,
  listQuery,
  notify,
  operation,
  pageFrom,
  pageOf,
} from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, sessionKey } from '../../core/fields.ts'
import type { PushChannel } from '../../kernel/channel.ts'
import { isDuplicate } from '../../store/db.ts'
import { writeAudit } from '../identity/audit-rows.ts'
import { changeLink, getLink, type LinkRow, listLinks, makeLink, unlink } from './rows.ts'
import { linkedSession, newCode } from './who-operations.ts'

const ADDRESS_MAX = 4096

const view = z.object({
  id: z.string(),
  user_id: z.string(),
  session_key: z.string().describe('Where what they write there goes.'),
  channel: z.string(),
  address: z.string(),
  person: z.boolean().describe('Also what their other agents say unasked goes there.'),
  rank: z.int().describe('The order in which a person’s links are tried, lowest first.'),
  closed_since: z.iso.datetime().optional().describe('Nothing goes there before they write again.'),
  ended_at: z.iso.datetime().optional().describe('Nobody is there any more.'),
  heard_at: z.iso.datetime().optional(),
  last: z
    .object({ outcome: z.string(), at: z.iso.datetime(), error: z.string().optional() })
    .optional()
    .describe('What the channel said last.'),
  created_at: z.iso.datetime(),
})

const viewOf = (row: LinkRow) => ({
  id: row.id,
  user_id: row.user_id,
  session_key: row.session_key,
  channel: row.channel,
  address: row.address,
  person: row.person,
  rank: row.rank,
  closed_since: row.closed_at ?? undefined,
  ended_at: row.ended_at ?? undefined,
  heard_at: row.heard_at ?? undefined,
  last:
    row.last_outcome === null
      ? undefined
      : { outcome: row.last_outcome, at: row.last_at, error: row.last_error ?? undefined },
  created_at: row.created_at,
})

function channelOf({ kernel }: Context, name: string): PushChannel {
  const channel = kernel.channels.get(name)
  if (channel !== undefined) return channel
  const known = [...kernel.channels.keys()].join(', ') || 'none is set up here'
  throw new Refusal('rule', `channel: there is no ${name}; there is: ${known}`)
}

const code = z.object({
  session_key: z.string(),
  code: z.string(),
  url: z.string().optional(),
  words: z.string(),
  expires_at: z.iso.datetime(),
})

const createLink = operation({
  name: 'create_link',
  method: 'POST',
  path: '/v1/links',
  tag: 'Links',
  summary: 'Link an address of a person, or make a code by which they link it themselves',
  description:
    'Without an address the answer holds a code, good once and for 15 minutes: the person who sends it on the channel gets the session’s messages and may write in it. With an address the link is there at once; that is for admin and service keys, and for channels whose addresses prove themselves.',
  body: z.object({
    channel: z.string().min(1).max(32),
    session_key: sessionKey
      .optional()
      .describe(
        'Left out: the thread of the user with the only agent that is named by the channel.',
      ),
    user_id: keyPart.optional(),
    person: z
      .boolean()
      .default(true)
      .describe('False: for this session alone, not for what their other agents say unasked.'),
    address: z.string().min(1).max(ADDRESS_MAX).optional(),
  }),
  status: 201,
  owner: 'body',
  roles: ['admin', 'service', 'agent', 'user'],
  output: z.union([view, code]),
  async run(ctx, { body }) {
    const { channel: name, person } = body
    const channel = channelOf(ctx, name)
    const session = linkedSession(ctx, body, { name, agentId: null })
    if (body.address === undefined) return { body: await newCode(ctx, session, channel, person) }
    const { role } = ctx.actor
    if (role !== 'admin' && role !== 'service' && !channel.provesItself)
      throw new Refusal(
        'forbidden',
        'an address is named by admin and service keys; ask for a code',
      )
    const address = channel.addressOf === undefined ? body.address : channel.addressOf(body.address)
    if (address === null) throw new Refusal('rule', `address: is not an address of ${name}`)
    const link = { session, channel: name, address, person, heard: false }
    const made = await makeLink(ctx.db, link).catch((error: unknown) => {
      throw isDuplicate(error) ? new Refusal('conflict', 'this address is linked already') : error
    })
    notify(ctx, 'outbox')
    return { body: viewOf(made), about: { id: made.id, owner: made.user_id } }
  },
})

const listLinksOp = operation({
  name: 'list_links',
  method: 'GET',
  path: '/v1/links',
  tag: 'Links',
  summary: 'Where people are reached, by session, and what each channel said last',
  query: listQuery({ max: 500, default: 100, cursor: z.tuple([sessionKey, z.uuid()]) }).extend({
    user_id: keyPart.optional(),
    channel: z.string().min(1).max(32).optional(),
    ended: flag.default(false).describe('Those where nobody is any more, too.'),
  }),
  owner: 'query',
  roles: ['admin', 'service', 'user'],
  output: pageOf(view),
  async run(ctx, { query }) {
    const { limit, cursor, ended, channel } = query
    const userId = ctx.owner ?? null
    const rows = await listLinks(ctx.db, {
      ...{ userId, ended, after: cursor ?? null, limit: limit + 1 },
      ...(channel === undefined ? {} : { channel }),
    })
    return pageFrom(rows, limit, { at: (row) => [row.session_key, row.id], view: viewOf })
  },
})

async function liveLink(ctx: Context, id: string): Promise<LinkRow> {
  const link = await getLink(ctx.db, ctx.actor.userId, id)
  if (link === null || link.ended_at !== null)
    throw new Refusal('not_found', `there is no link ${id}`)
  return link
}

const updateLink = operation({
  name: 'update_link',
  method: 'PATCH',
  path: '/v1/links/{id}',
  tag: 'Links',
  summary: 'Make a link the person’s first, or for one session alone',
  params: z.object({ id: idParam }),
  body: z.object({
    person: z.boolean().optional(),
    first: z.literal(true).optional().describe('It is tried before all others of the person.'),
  }),
  owner: 'row',
  roles: ['admin', 'service', 'user'],
  output: view,
  async run(ctx, { params, body }) {
    const link = await liveLink(ctx, params.id)
    const { person, first } = body
    const changed = await changeLink(ctx.db, link, {
      ...(person === undefined ? {} : { person }),
      ...(first === undefined ? {} : { first }),
    })
    notify(ctx, 'outbox')
    return { body: viewOf(changed), about: { owner: link.user_id } }
  },
})

const deleteLink = operation({
  name: 'delete_link',
  method: 'DELETE',
  path: '/v1/links/{id}',
  tag: 'Links',
  summary: 'End a link; what was not sent goes by another one, or stays for the sockets',
  params: z.object({ id: idParam }),
  status: 204,
  owner: 'row',
  roles: ['admin', 'service', 'user'],
  output: null,
  async run(ctx, { params }) {
    const link = await liveLink(ctx, params.id)
    await unlink(ctx.db, link, null)
    return { body: null, about: { owner: link.user_id } }
  },
})

const testLink = operation({
  name: 'test_link',
  method: 'POST',
  path: '/v1/links/{id}/test',
  tag: 'Links',
  summary: 'Send a line to try a link, and say what came of it',
  params: z.object({ id: idParam }),
  // It waits for somebody else's server, so it holds no transaction meanwhile.
  audit: 'own',
  owner: 'row',
  roles: ['admin', 'service', 'user'],
  output: z.object({ outcome: z.string(), error: z.string().optional() }),
  async run(ctx, { params }) {
    if (ctx.inTransaction) throw new Refusal('rule', 'this cannot be part of something larger')
    const link = await liveLink(ctx, params.id)
    channelOf(ctx, link.channel)
    const { outcome, error } = await ctx.kernel.tryLink(link, ctx.signal())
    if (ctx.entry !== undefined)
      await writeAudit(ctx.db, [{ ...ctx.entry, objectId: link.id, owner: link.user_id }])
    return { body: { outcome, error: error ?? undefined } }
  },
})

export const links = [createLink, listLinksOp, updateLink, deleteLink, testLink] as const
