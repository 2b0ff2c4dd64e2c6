/**
 * JSON-RPC messages as they come off a wire. Fields that operations keep verbatim stay text (`params.arguments.payload`),
 * which `JSON.parse` could not do. Arguments that are JSON but cannot be kept reach the tool as their error, so that the
 * model hears of it as of any other.
 */
import { JsonError, readJson } from '../../packages/exact-json/src/index.ts'

/** Objects around an argument: the message, `params`, `arguments`. */
const ARGUMENT_LEVEL = 3
/** The longest message taken, as for every body of HTTP. */
export const MESSAGE_BYTES_MAX = 256 * 1024

/** Throws a `JsonError` for what is no JSON. */
export function readMessage(text: string, opaque: ReadonlySet<string>): unknown {
  try {
    return readJson(text, opaque, ARGUMENT_LEVEL)
  } catch (error) {
    if (!(error instanceof JsonError) || error.kind === 'syntax') throw error
    return withError(parsed(text, error), error)
  }
}

/** What is behind the first thing that cannot be kept was not read yet, and may be no JSON. */
function parsed(text: string, error: JsonError): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw error
  }
}

function withError(message: unknown, error: JsonError): unknown {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: unknown }
  if (method !== 'tools/call' || typeof params !== 'object' || params === null) throw error
  return { ...(message as object), params: { ...params, arguments: { arguments: error } } }
}
