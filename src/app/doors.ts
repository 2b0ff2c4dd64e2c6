/** The doors within a process, put together for the composition root: the library's, and MCP's over HTTP. */
import type { Logger } from 'pino'
import { type Door, type LocalDoor, localDoor } from '../api/callers/caller.ts'
import type { Actor, Context, Operation } from '../api/contract.ts'
import { refusalOf } from '../api/refusal.ts'
import { wallClock } from '../clock.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { Tracer } from '../core/trace/trace.ts'
import type { McpAnswerer } from '../http/mcp.ts'
import type { McpEndpoint } from '../mcp/endpoint.ts'
import type { OpenStreams } from '../mcp/event-stream.ts'
import { allTools } from '../mcp/tool.ts'

export interface Asking {
  readonly requestId: string
  readonly signal: AbortSignal
  readonly traceparent?: string | null
}

export interface DoorOptions {
  context(actor: Actor, caller: Asking): Context
  readonly once: LocalDoor['once']
  readonly log: Logger
  readonly now: (() => Date) | undefined
  readonly tracer: Tracer
}

/** Operations as functions of flat arguments, for one actor. */
export function openDoor(
  options: DoorOptions,
  actor: Actor,
  caller: { readonly requestId: string; readonly traceparent?: string | null } = {
    requestId: newId(),
  },
): Door {
  const { requestId, traceparent = null } = caller
  return localDoor({
    actor,
    once: options.once,
    tracer: options.tracer,
    now: () => options.now?.().getTime() ?? wallClock(),
    context: (signal = new AbortController().signal) =>
      options.context(actor, { requestId, signal, traceparent }),
    refusal: (error) => {
      const refusal = refusalOf(error)
      if (refusal.code !== 'internal') return refusal
      options.log.error({ request_id: requestId, err: refusal.cause }, 'a call failed')
      return new Refusal('internal', `the error was logged under request id ${requestId}`)
    },
  })
}

/** What answers `POST /mcp`. */
export function mcpOverHttp(
  options: DoorOptions,
  operations: readonly Operation[],
  version: string,
  streams: OpenStreams,
): McpAnswerer {
  // Loaded with the first message: it takes 0.1 s, which those who never send one need not wait for.
  let endpoint: Promise<McpEndpoint> | undefined
  const load = async () => {
    const [{ mcpEndpoint }, { eventOperations }] = await Promise.all([
      import('../mcp/endpoint.ts'),
      import('../mcp/events.ts'),
    ])
    return mcpEndpoint({
      tools: allTools(operations),
      events: eventOperations(operations),
      streams,
      version,
      onError: (error) => options.log.debug({ error: error.message }, 'an MCP message was refused'),
    })
  }
  return async (caller, message) => {
    endpoint ??= load()
    const { post } = await endpoint
    const door = openDoor(options, caller.actor, caller)
    return post({ ...message, signal: caller.signal, door })
  }
}
