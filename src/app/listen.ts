/** The HTTP server and the sockets of a process. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { wallClock } from '../clock.ts'
import { newId } from '../core/ids.ts'
import { claimKey, completeKey, keptAnswer } from '../features/identity/idempotency-rows.ts'
import { ChangeStreams } from '../http/changes.ts'
import { closing } from '../http/closing.ts'
import { createServer } from '../http/server.ts'
import { isLocal, openSockets, type SocketDoor } from '../http/socket.ts'
import type { ChannelAnswer, ChannelRequest } from '../kernel/channel.ts'
import { healthOfShards } from '../observe/health.ts'
import { ROOT } from '../root.ts'
import { VERSION } from '../version.ts'
import { type App, notThereYet } from './app.ts'
import { mcpOverHttp } from './doors.ts'
import { operations } from './operations.ts'

const DOCS = `${ROOT}dist/docs/`
const CONSOLE = `${ROOT}dist/console/`

/** Routes and sockets, on a server of our own or in somebody else's. */
export interface Served {
  readonly server: FastifyInstance
  readonly sockets: SocketDoor
  close(): Promise<void>
}

/** Listens where the settings say. */
export async function listen(app: App): Promise<Served & { readonly address: string }> {
  const { config } = app
  const served = serve(app)
  const { server, sockets } = served
  server.server.on('upgrade', (request, stream, head) =>
    sockets.upgrade(request, stream, head, isLocal(server.server)),
  )
  await server.listen({ host: config.host, port: config.port })
  const { address, port, family } = server.server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return { ...served, address: `http://${host}:${port}` }
}

/** `loopback`: whether only this machine may call; by default it depends on the address that it listens on. */
export function serve(app: App, loopback?: boolean): Served {
  const { config, identity, metering, tracer } = app
  const healths = app.kernels.all.map(({ health }) => health)
  metering.begin()
  const server = createServer({
    operations,
    ...(loopback === undefined ? {} : { loopback }),
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
    hooks: (name, request) => {
      if (!app.ready) throw notThereYet()
      return app.packs.hooks?.(name, asked(app, request)) ?? null
    },
    stream: (request) => sockets.stream(request, loopback ?? isLocal(server.server)),
    changes: (request) => changes.open(request, loopback ?? isLocal(server.server)),
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
  const sockets = openSockets({
    hub: app.sockets,
    postMessage,
    ...identity.sockets,
    context: (actor) =>
      app.context(actor, { requestId: newId(), signal: new AbortController().signal }),
    onError: (error) => app.meter.trouble('socket', error),
    tracer,
  })
  const changes = new ChangeStreams({
    ...identity.sockets,
    context: (actor) =>
      app.context(actor, { requestId: newId(), signal: new AbortController().signal }),
    stores: app.stores.all.map(({ db }) => db),
    onHint: (listener) => onHints(app, listener),
    onError: (error) => app.meter.trouble('changes', error),
  })
  const both: SocketDoor = {
    upgrade: sockets.upgrade,
    stream: sockets.stream,
    dismiss(keyIds) {
      sockets.dismiss(keyIds)
      changes.dismiss(keyIds)
    },
    close() {
      sockets.close()
      changes.close()
    },
  }
  return { server, sockets: both, close: closing(server) }
}

const CHANGING = ['clock', 'turns', 'outbox', 'stops'] as const

/** Until what it answers is called. */
function onHints({ kernels }: App, listener: () => void): () => void {
  const leave = kernels.all.flatMap(({ hints }) =>
    CHANGING.map((topic) => hints.on(topic, () => listener())),
  )
  return () => {
    for (const each of leave) each()
  }
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
  const call = asked(app, request)
  return channel?.receive?.(call, app.inbox) ?? pack?.(call) ?? null
}

function asked(app: App, request: Omit<ChannelRequest, 'now'>): ChannelRequest {
  return { ...request, now: app.options.now?.() ?? new Date(wallClock()) }
}
