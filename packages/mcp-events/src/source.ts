/**
 * One event of one server as a source of signals. If this server has a public URL, the other one calls us and a poll only renews
 * the subscription; otherwise a poll fetches events. Signals are stored before the cursor moves, so a crash in between delivers them
 * again, and they are deduplicated.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { PackApp } from '../../../src/app/pack.ts'
import { sourceKey } from '../../../src/features/intents/polling.ts'
import { type Source, SourceError, type Visit } from '../../../src/features/intents/source.ts'
import { canonicalJson } from '../../exact-json/src/index.ts'
import { eventShape, signalOf } from './event.ts'
import type { Ask, McpServers } from './server.ts'
import type { Wanted } from './settings.ts'
import { ensureMcpSource, type McpSource, moveMcpSource, renewMcpSource } from './state.ts'

const EVERY_MS = 60_000
const PAGES_MAX = 20
const EVENTS_MAX = 100

export interface McpSourceOptions {
  readonly servers: McpServers
  readonly app: Pick<PackApp, 'store' | 'takeSignals'>
  readonly publicUrl: string | null
}

export function keyOf({ url, name, arguments: args }: Wanted): string {
  return sourceKey('mcp', url, name, canonicalJson(args))
}

/** The query parameter of the URL that they call. */
export const SOURCE = 'source'

/** Its value; reveals nothing of the server or its arguments. */
export function routeOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32)
}

export function mcpSource(wanted: Wanted, options: McpSourceOptions): Source {
  const key = keyOf(wanted)
  return {
    ...{ key, kind: 'mcp', everyMs: EVERY_MS, address: wanted.url },
    async poll(visit) {
      const state = await ensureMcpSource(options.app.store.commits, key)
      if (state.ended !== null)
        throw new SourceError(`the other server has ended it: ${state.ended}`)
      const { publicUrl } = options
      if (publicUrl === null) await readAll(wanted, state, visit, options)
      else if (isDue(state, visit.now)) await subscribe(wanted, state, visit, publicUrl, options)
      // New events are stored already.
      return []
    },
  }
}

function isDue({ subscription_id: id, renew_at: at }: McpSource, now: Date): boolean {
  return id === null || (at !== null && at <= now)
}

const subscribed = z.looseObject({
  id: z.string().min(1),
  refreshBefore: z.iso.datetime({ offset: true }).nullable(),
  cursor: z.string().nullish(),
  truncated: z.boolean(),
})

/** The secret is stored first: their challenge arrives during our request. */
async function subscribe(
  wanted: Wanted,
  state: McpSource,
  visit: Visit,
  publicUrl: string,
  { servers, app }: McpSourceOptions,
): Promise<void> {
  const { name, arguments: args } = wanted
  const { key, secret, cursor } = state
  const delivery = {
    mode: 'webhook',
    url: `${publicUrl}/v1/channels/mcp-events?${SOURCE}=${routeOf(key)}`,
    secret,
  }
  const params = { name, arguments: args, delivery, cursor }
  const answer = await servers.talk(wanted, visit.signal, async (ask) => {
    await requireEvent(ask, name, 'webhook')
    return ask('events/subscribe', params, subscribed)
  })
  if (answer.truncated) visit.warn('the other server has left something out')
  const { id, refreshBefore } = answer
  const renewAt = refreshBefore === null ? null : halfway(visit.now, new Date(refreshBefore))
  const renewed = { key, id, cursor: answer.cursor ?? null, renewAt }
  await renewMcpSource(app.store.commits, renewed)
}

/** Early enough for several attempts before it expires. */
function halfway(now: Date, end: Date): Date {
  return new Date((now.getTime() + Math.max(now.getTime(), end.getTime())) / 2)
}

const catalog = z.looseObject({
  events: z.array(z.looseObject({ name: z.string(), delivery: z.array(z.string()) })),
  nextCursor: z.string().nullish(),
})

/** The event from their catalogue, with its delivery mode. */
async function requireEvent(ask: Ask, name: string, way: string): Promise<void> {
  let cursor: string | null = null
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const page: z.output<typeof catalog> = await ask(
      'events/list',
      cursor === null ? {} : { cursor },
      catalog,
    )
    const found = page.events.find((event) => event.name === name)
    if (found?.delivery.includes(way)) return
    if (found !== undefined) throw new SourceError(`its event ${name} cannot be had by ${way}`)
    cursor = page.nextCursor ?? null
    if (cursor === null) break
  }
  throw new SourceError(`this server has no event ${name}`)
}

const polled = z.looseObject({
  events: z.array(eventShape),
  cursor: z.string(),
  truncated: z.boolean().default(false),
  hasMore: z.boolean().default(false),
})

async function readAll(
  wanted: Wanted,
  state: McpSource,
  visit: Visit,
  { servers, app }: McpSourceOptions,
): Promise<void> {
  const { key } = state
  const { name, arguments: args, user_id: userId = null } = wanted
  await servers.talk(wanted, visit.signal, async (ask) => {
    if (state.cursor === null) await requireEvent(ask, name, 'poll')
    let { cursor } = state
    for (let pages = 0; pages < PAGES_MAX; pages++) {
      const params = { name, arguments: args, cursor, maxEvents: EVENTS_MAX }
      const page = await ask('events/poll', params, polled)
      if (page.truncated) visit.warn('the other server has left something out')
      const signals = page.events.map((event) => signalOf(key, event, visit.now, userId))
      if (signals.length > 0) await app.takeSignals(signals)
      cursor = page.cursor
      await moveMcpSource(app.store.commits, key, cursor)
      if (!page.hasMore) return
    }
  })
}
