/**
 * MCP over streamable HTTP, without sessions: each POST is answered for itself, by whatever process it reaches. Who asks
 * was found out before; Host, Origin and size were checked with every other request.
 */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { JsonError } from '../../packages/exact-json/src/index.ts'
import type { Door } from '../api/callers/caller.ts'
import { ERRORS } from '../core/errors.ts'
import { type McpOptions, mcpServer, readMessage, type ToolSet } from './server.ts'
import { opaqueNames } from './tool.ts'

export interface McpPost {
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly door: Door
  readonly tools: ToolSet
  readonly signal: AbortSignal
}

/** The handler wants a whole address; only its form matters. */
const ADDRESS = 'http://localhost/mcp'
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

export interface McpEndpoint {
  post(message: McpPost): Promise<Response>
}

export function mcpEndpoint(
  options: McpOptions & { onError: (error: Error) => void },
): McpEndpoint {
  const opaque = opaqueNames(options.tools)
  const handler = createMcpHandler(
    ({ authInfo }) =>
      mcpServer(options, authInfo?.extra?.door as Door, authInfo?.extra?.tools as ToolSet),
    { onerror: options.onError, maxSubscriptions: 0 },
  )
  return {
    async post({ headers, text, door, signal, tools }: McpPost): Promise<Response> {
      const read = readPost(text, opaque)
      if (read instanceof Response) return read
      const request = new Request(ADDRESS, { method: 'POST', headers, body: text, signal })
      // The protocol's place for what is known of the caller; the factory above takes the door out again.
      const authInfo = { token: '', clientId: '', scopes: [], extra: { door, tools } }
      return handler.fetch(request, { parsedBody: read, authInfo })
    },
  }
}

function readPost(text: string, opaque: ReadonlySet<string>): unknown {
  try {
    const message = readMessage(text, opaque)
    if (!Array.isArray(message)) return message
    return refused(INVALID_REQUEST, 'send one message at a time, not a list of them')
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return refused(PARSE_ERROR, error.message)
  }
}

function refused(code: number, message: string): Response {
  const body = { jsonrpc: '2.0', id: null, error: { code, message } }
  return Response.json(body, { status: ERRORS.malformed.status })
}
