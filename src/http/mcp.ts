/** `POST /mcp`: the same guards, credentials and limits as every operation; the protocol itself is handed in. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../core/errors.ts'
import { UNTRACED } from '../core/trace/trace.ts'
import { refuseRest } from './methods.ts'
import { callerOf, incoming } from './operation.ts'
import { readText } from './reading.ts'
import type { Caller } from './server.ts'

/** Answers one message of the protocol with the rights of its sender. */
export type McpAnswerer = (
  caller: Caller,
  message: {
    readonly text: string
    readonly headers: Readonly<Record<string, string>>
    readonly tools: 'default' | 'all'
  },
) => Promise<Response>

const PATH = '/mcp'
/** What the protocol reads; credentials stay here. */
const PASSED_ON = /^(?:accept|content-type|mcp-[\w-]+)$/

export function addMcpRoute(
  app: FastifyInstance,
  answer: McpAnswerer,
  authenticate: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  app.route({
    method: 'POST',
    url: PATH,
    onRequest: authenticate,
    handler: async (request, reply) => {
      const text = readText(request.body, request.headers)
      if (text === undefined) throw new Refusal('malformed', 'body: is required')
      // The tool that is called has a span of its own; the request only hands on the caller's trace.
      request.span = UNTRACED.start('mcp', { parent: incoming(request.headers) })
      const caller = callerOf(request, reply)
      const response = await answer(caller, {
        text,
        headers: passedOn(request),
        tools: toolsAsked(request),
      })
      return reply.send(response)
    },
  })
  // No sessions and no stream of our own: nothing to GET or to DELETE.
  refuseRest(app, PATH, new Set(['POST']))
}

/** `?tools=all` shows every operation. */
function toolsAsked({ query }: FastifyRequest): 'default' | 'all' {
  const { tools = 'default' } = query as { tools?: unknown }
  if (tools === 'default' || tools === 'all') return tools
  throw new Refusal('shape', 'query.tools: must be default or all')
}

function passedOn({ headers }: FastifyRequest): Record<string, string> {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    PASSED_ON.test(name) && value !== undefined ? [[name, String(value)]] : [],
  )
  return Object.fromEntries(pairs)
}
