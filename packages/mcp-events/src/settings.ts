/** The events of MCP servers to subscribe to, from the environment. */
import { z } from 'zod'
import { keyPart } from '../../../src/core/fields.ts'
import { isHttpUrl, type Reader } from '../../../src/core/variables.ts'

const WANTED_MAX = 100
const NAME_MAX = 200

const wanted = z.strictObject({
  url: z.string().refine(isHttpUrl),
  name: z.string().min(1).max(NAME_MAX),
  arguments: z.record(z.string(), z.unknown()).default({}),
  /** Bearer token for that server. */
  token: z.string().min(1).optional(),
  /** Owner of the signals; default: everyone. */
  user_id: keyPart.optional(),
})
const list = z.array(wanted).max(WANTED_MAX)

export type Wanted = z.output<typeof wanted>

export interface McpEventsSettings {
  readonly mcpEvents: {
    readonly wanted: readonly Wanted[]
    /** Public URL of this server, without a trailing slash; null: poll instead. */
    readonly publicUrl: string | null
  }
}

const TAKES = `a JSON list of up to ${WANTED_MAX} {"url", "name", "arguments"?, "token"?, "user_id"?}`
const PUBLIC = 'an https:// URL without query, such as https://wakeful.example'

export function readMcpEvents(read: Reader): McpEventsSettings {
  const text = read.checked('WAKEFUL_MCP_EVENTS', (value) => parse(value) !== null, TAKES, 'secret')
  const all = text === null ? [] : (parse(text) ?? [])
  const may = all.filter(({ url }) => read.mayBeCalled('WAKEFUL_MCP_EVENTS', url))
  const publicUrl = read.checked('WAKEFUL_PUBLIC_URL', isPublic, PUBLIC)
  return { mcpEvents: { wanted: may, publicUrl: publicUrl?.replace(/\/+$/, '') ?? null } }
}

function isPublic(value: string): boolean {
  return isHttpUrl(value) && !/[?#@]/.test(value)
}

function parse(text: string): readonly Wanted[] | null {
  try {
    return list.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}
