/** Links: where a person is reached beside their sockets. */

import { randomBytes } from 'node:crypto'
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
} from '../../../../src/api/contract.ts'
import { Refusal } from '../../../../src/core/errors.ts'
import { keyPart, sessionKey } from '../../../../src/core/fields.ts'
import type { SessionRef } from '../../../../src/core/session.ts'
import { quoted } from '../../../../src/core/words.ts'
import { writeAudit } from '../../../../src/features/identity/audit-rows.ts'
import {
  requireAgent,
  sessionNotFound,
  sessionOf,
} from '../../../../src/features/sessions/ref-operations.ts'
import type { PushChannel } from '../../../../src/kernel/channel.ts'
import { isDuplicate } from '../../../../src/store/db.ts'
import {
  changeLink,
  createCode,
  getLink,
  type LinkRow,
  listLinks,
  makeLink,
  requireRoom,
  unlink,
} from './link-rows.ts'
import { tryLink } from './pushes.ts'
import { codeHash } from './text.ts'

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

const changedLink = view.extend({ words: z.string() })
const linkWords = ({ channel, address, user_id, person, session_key }: LinkRow) =>
  `${channel} ${quoted(address)} reaches ${user_id}${person ? '' : ` for ${session_key} alone`}.`

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
  output: z.union([changedLink, code]),
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
    return {
      body: { ...viewOf(made), words: linkWords(made) },
      about: { id: made.id, owner: made.user_id },
    }
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
  output: changedLink,
  async run(ctx, { params, body }) {
    const link = await liveLink(ctx, params.id)
    const { person, first } = body
    const changed = await changeLink(ctx.db, link, {
      ...(person === undefined ? {} : { person }),
      ...(first === undefined ? {} : { first }),
    })
    notify(ctx, 'outbox')
    return {
      body: { ...viewOf(changed), words: linkWords(changed) },
      about: { owner: link.user_id },
    }
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
  output: z.object({ outcome: z.string(), error: z.string().optional(), words: z.string() }),
  async run(ctx, { params }) {
    if (ctx.inTransaction) throw new Refusal('rule', 'cannot be combined with an Idempotency-Key')
    const link = await liveLink(ctx, params.id)
    channelOf(ctx, link.channel)
    const { outcome, error } = await tryLink(
      ctx.kernel.store.commits,
      channelOf(ctx, link.channel),
      link,
      ctx.signal(),
    )
    if (ctx.entry !== undefined)
      await writeAudit(ctx.db, [{ ...ctx.entry, objectId: link.id, owner: link.user_id }])
    const words = `The line to ${link.channel}: ${outcome}${error === null ? '' : ` (${error})`}.`
    return { body: { outcome, error: error ?? undefined, words } }
  },
})

export const links = [createLink, listLinksOp, updateLink, deleteLink, testLink] as const

// Which session an address is to stand for, and the one-use code by which it proves whose it is.

const CODE_TTL_MS = 15 * 60_000
/** 192 bits, in 32 characters that can be typed and put into a link. */
const CODE_BYTES = 24

export interface Named {
  readonly session_key?: string | undefined
  readonly user_id?: string | undefined
}

/** Where no session is named, a person has a thread of its own with the agent, called by the channel. */
export function linkedSession(
  ctx: Context,
  { session_key: key, user_id }: Named,
  channel: { readonly name: string; readonly agentId: string | null; readonly setting?: string },
): SessionRef {
  const { actor, kernel } = ctx
  const [only, other] = kernel.agents.names
  const agent = actor.agentId ?? channel.agentId ?? (other === undefined ? only : undefined)
  const user = actor.userId ?? user_id
  const errors: string[] = []
  if (key === undefined && user === undefined)
    errors.push('session_key: say which session, or whose with user_id')
  if (key === undefined && agent === undefined) {
    const unset = channel.setting === undefined ? '' : ` and no ${channel.setting}`
    errors.push(`session_key: say which session; there are several agents${unset}`)
  }
  if (errors.length > 0) throw new Refusal('rule', errors)
  const session = sessionOf(actor, key ?? `${user}:${agent}:${channel.name}`)
  // A key that is bound to one agent hands out no way into another's conversations.
  if (actor.agentId !== null && actor.agentId !== session.agentId)
    throw sessionNotFound(session.key)
  requireAgent(ctx, session)
  return session
}

/** Only its hash is kept. */
export async function newCode(
  ctx: Context,
  session: SessionRef,
  channel: PushChannel,
  person: boolean,
) {
  await requireRoom(ctx.db, session, channel.name)
  const code = randomBytes(CODE_BYTES).toString('base64url')
  const invitation = await channel.invite?.(code)
  const { name } = channel
  const kept = { session, channel: name, person, hash: codeHash(code), ttlMs: CODE_TTL_MS }
  const expires_at = await createCode(ctx.db, kept)
  const { url, words = `Write "link ${code}" there.` } = invitation ?? {}
  return { session_key: session.key, code, url, words, expires_at }
}
