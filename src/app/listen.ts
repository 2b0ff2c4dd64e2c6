/** The HTTP server and the sockets of a process. */
import type { AddressInfo } from 'node:net'
import { wallClock } from '../clock.ts'
import { newId } from '../core/ids.ts'
import { claimKey, completeKey, keptAnswer } from '../features/identity/idempotency-rows.ts'
import { closing } from '../http/closing.ts'
import { createServer } from '../http/server.ts'
import { openSockets, type SocketDoor } from '../http/socket.ts'
import type { ChannelAnswer, ChannelRequest } from '../kernel/channel.ts'
import { healthOfShards } from '../observe/health.ts'
import { ROOT } from '../root.ts'
import { VERSION } from '../version.ts'
import { type App, notThereYet } from './app.ts'
import { mcpOverHttp } from './doors.ts'
import { operations } from './operations.ts'

const DOCS = `${ROOT}dist/docs/`
const CONSOLE = `${ROOT}dist/console/`

export interface Listening {
  readonly address: string
  readonly sockets: SocketDoor
  close(): Promise<void>
}

export async function listen(app: App): Promise<Listening> {
  const { config, identity, metering, tracer } = app
  const healths = app.kernels.all.map(({ health }) => health)
  metering.begin()
  const server = createServer({
    operations,
    version: VERSION,
    logger: app.options.log,
    console: CONSOLE,
    docs: DOCS,
    authenticate: identity.authenticate,
    limit: identity.limit,
    limitStrangers: identity.limitStrangers,
    trusts: identity.trusts,
    context: (caller) => app.context(caller.actor, caller),
    idempotency: { claimKey, keptAnswer, completeKey },
    ...(config.oauth === null ? {} : { oauth: config.oauth }),
    mcp: mcpOverHttp(app.doors, operations, VERSION, app.streams),
    channels: (name, request) => receive(app, name, request),
    tracer,
    onAnswer: (operation, status, ms) => metering.answered(operation, status, ms),
    files: app.runtime.files,
    health: app.stores.several ? healthOfShards(healths) : () => app.kernels.home.health.health(),
    ready: async () => app.ready,
    metricsAuth: config.metricsAuth,
    metrics: async () => ({
      contentType: metering.registry.contentType,
      text: await metering.registry.metrics(),
    }),
  })
  const postMessage = operations.find((op) => op.name === 'post_message')
  if (postMessage === undefined) throw new Error('the operation post_message is missing')
  const sockets = openSockets(server.server, {
    hub: app.sockets,
    postMessage,
    ...identity.sockets,
    context: (actor) =>
      app.context(actor, { requestId: newId(), signal: new AbortController().signal }),
    onError: (error) => app.meter.trouble('socket', error),
    tracer,
  })
  const close = closing(server)
  await server.listen({ host: config.host, port: config.port })
  const { address, port, family } = server.server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return { address: `http://${host}:${port}`, sockets, close }
}

/** Null if no channel or package of that name takes calls. */
function receive(
  app: App,
  name: string,
  request: Omit<ChannelRequest, 'now'>,
): Promise<ChannelAnswer> | null {
  const channel = app.channels.get(name)
  const pack = app.packs.receivers.get(name)
  if (channel?.receive === undefined && pack === undefined) return null
  if (!app.ready) throw notThereYet()
  const asked = { ...request, now: app.options.now?.() ?? new Date(wallClock()) }
  return channel?.receive?.(asked, app.inbox) ?? pack?.(asked) ?? null
}
