/**
 * Webhook requests of other servers. The raw body is verified before it is parsed; 2xx means that the signal is stored. Until
 * our subscription is stored, they are asked to retry.
 */
import { z } from 'zod'
import type { PackApp, Receive } from '../../../src/app/pack.ts'
import { isSigned } from '../../../src/core/calls/signature.ts'
import {
  type ChannelAnswer,
  type ChannelRequest,
  header,
  jsonOf,
} from '../../../src/kernel/channel.ts'
import { BODY_MAX_BYTES } from '../../subscriptions/src/rules.ts'
import { eventShape, signalOf } from './event.ts'
import type { Wanted } from './settings.ts'
import { SOURCE } from './source.ts'
import { endMcpSource, findMcpSource, type McpSource, moveMcpSource } from './state.ts'

const ENDED_MAX = 500
const message = z.union([
  z.looseObject({ type: z.literal('verification'), challenge: z.string().min(1).max(1024) }),
  z.looseObject({ type: z.literal('gap'), cursor: z.string() }),
  z.looseObject({
    type: z.literal('terminated'),
    error: z.looseObject({ message: z.string() }).optional(),
  }),
  eventShape.extend({ type: z.undefined().optional() }),
])

export interface ReceiverOptions {
  readonly app: Pick<PackApp, 'store' | 'takeSignals' | 'meter'>
  /** Finds the source by the name in the URL. */
  readonly sources: ReadonlyMap<string, { readonly key: string; readonly wanted: Wanted }>
}

const status = (code: number): ChannelAnswer => ({ status: code })

export function mcpReceiver({ app, sources }: ReceiverOptions): Receive {
  return async (request) => {
    const { now, body } = request
    const source = sources.get(request.query[SOURCE] ?? '')
    const state = source && (await findMcpSource(app.store.commits, source.key))
    if (source === undefined || state == null || body.length > BODY_MAX_BYTES) return status(401)
    const text = body.toString('utf8')
    if (!isTheirs(request, text, state)) return status(401)
    const read = message.safeParse(jsonOf(text))
    if (!read.success) return status(400)
    return taken(read.data, { ...source, state, now }, app)
  }
}

interface Heard {
  readonly key: string
  readonly wanted: Wanted
  readonly state: McpSource
  readonly now: Date
}

async function taken(
  said: z.output<typeof message>,
  { key, wanted, state, now }: Heard,
  app: ReceiverOptions['app'],
): Promise<ChannelAnswer> {
  if (said.type === 'verification') return { status: 200, body: { challenge: said.challenge } }
  // They may call before their answer to our subscription has arrived.
  if (state.subscription_id === null) return status(503)
  if (said.type === 'terminated') {
    const why = said.error?.message.slice(0, ENDED_MAX) ?? 'no reason given'
    await endMcpSource(app.store.commits, key, why)
    app.meter.trouble('mcp-events', new Error(`${key} was ended: ${why}`))
    return status(204)
  }
  if (said.type === 'gap') {
    app.meter.trouble('mcp-events', new Error(`${key} has a gap: some events are lost`))
    await moveMcpSource(app.store.commits, key, said.cursor)
    return status(204)
  }
  if (said.name !== wanted.name) return status(400)
  await app.takeSignals([signalOf(key, said, now, wanted.user_id ?? null)])
  if (said.cursor != null) await moveMcpSource(app.store.commits, key, said.cursor)
  return status(204)
}

/** Signed with this source's secret, recent, and for our subscription if its id is known. */
function isTheirs(request: ChannelRequest, text: string, state: McpSource): boolean {
  const id = header(request, 'x-mcp-subscription-id')
  if (id === '' || (state.subscription_id !== null && id !== state.subscription_id)) return false
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  const signed = Object.fromEntries(names.map((name) => [name, header(request, name)]))
  return isSigned([state.secret], signed, text, request.now)
}
