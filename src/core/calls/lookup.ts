/** The check that every outgoing call's connection passes, and what a call that failed says. */
import type { LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { errorText } from '../errors.ts'
import { isPublicAddress } from './address.ts'

/** How names are resolved: `lookup` of `node:dns`, handed in. */
export type Resolve = typeof lookup

/** Undici wraps what the socket said. */
function innermost(error: unknown): unknown {
  if (error instanceof AggregateError) return error.errors[0]
  return error instanceof Error && error.cause instanceof Error ? error.cause : error
}

const codeOf = (error: unknown) => (error as { code?: unknown } | null)?.code

/** The innermost cause, with its code. */
export function callError(error: unknown): string {
  const inner = innermost(error)
  const code = codeOf(inner)
  const text = errorText(inner, 300)
  return typeof code === 'string' && !text.includes(code) ? `${code} ${text}` : text
}

/** Why there was no answer. */
export type CallFault = 'timeout' | 'tls_error' | 'connection_refused'

export function callFault(error: unknown): CallFault {
  const code = String(codeOf(innermost(error)) ?? '')
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return 'timeout'
  return /TLS|SSL|CERT|SIGNED|SIGNATURE/.test(code) ? 'tls_error' : 'connection_refused'
}

/**
 * Judges what the name resolves to in the very look-up that the connection uses, so that a second answer
 * cannot differ from the checked one. One private address among public ones refuses them all.
 */
export function checkedLookup(allowPrivate: boolean, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, '', 0)
      const addresses = found as unknown as LookupAddress[]
      const wrong = allowPrivate
        ? undefined
        : addresses.find(({ address }) => !isPublicAddress(address))
      const [first] = addresses
      if (wrong !== undefined || first === undefined) {
        const text = `${hostname} resolves to ${wrong?.address ?? 'nothing'}, which may not be called`
        return callback(Object.assign(new Error(text), { code: 'EREFUSEDADDRESS' }), '', 0)
      }
      if (options.all) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }
}

/** A response body was longer than the caller accepts. */
export class BodyTooLong extends Error {}

/** Reads a whole body of at most `maxBytes`. Leaving the loop early destroys the stream. */
export async function readBody(
  body: AsyncIterable<Uint8Array> | null,
  maxBytes: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new BodyTooLong(`answered with more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
