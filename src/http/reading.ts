/** From bytes to the parts of a request. Whatever is wrong here is the client's: 4xx, never 5xx. */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { readJson } from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'

export const BODY_BYTES_MAX = 256 * 1024
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const OTHER_CHARSET = /;\s*charset\s*=\s*"?(?!utf-?8"?\s*(?:;|$))/i
const REQUEST_ID = /^[\w-]{1,64}$/

/** Empty is absent. `opaque` names the members that stay text. */
export function readBody(
  body: unknown,
  headers: IncomingHttpHeaders,
  opaque: ReadonlySet<string>,
): unknown {
  const text = readText(body, headers)
  return text === undefined ? undefined : readJson(text, opaque)
}

/** The text of a JSON body, before anybody read it. */
export function readText(body: unknown, headers: IncomingHttpHeaders): string | undefined {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined
  const type = headers['content-type'] ?? ''
  if (type !== 'application/json' && (!JSON_TYPE.test(type) || OTHER_CHARSET.test(type))) {
    throw new Refusal('media_type', 'send the body as application/json in UTF-8')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Refusal('media_type', 'send the body without Content-Encoding')
  }
  if (!isUtf8(body)) throw new Refusal('malformed', 'body: not valid UTF-8')
  return body.toString('utf8')
}

/** Why a query string cannot be used, kept inside its result: the router must not see a throw. */
const WRONG = Symbol('wrong')
export type Query = Record<string, string> & { [WRONG]?: Refusal }

const NO_QUERY: Query = Object.freeze(Object.create(null))

/** The router's query parser. Says what is wrong only when `checkQuery` asks. */
export function parseQuery(text: string): Query {
  if (text === '') return NO_QUERY
  const query: Query = Object.create(null)
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const cut = pair.indexOf('=')
    const name = decode(cut < 0 ? pair : pair.slice(0, cut))
    const value = cut < 0 ? '' : decode(pair.slice(cut + 1))
    if (name === undefined || value === undefined) {
      query[WRONG] ??= new Refusal('malformed', 'query: not valid percent-encoded UTF-8')
    } else if (name in query) {
      query[WRONG] ??= new Refusal('shape', `query.${name.slice(0, 64)}: may be given only once`)
    } else query[name] = value
  }
  return query
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Nothing that the database takes as text may hold U+0000, and no honest URL does. */
export function checkUrl(url: string, query: unknown): void {
  if (url.includes('%00')) throw new Refusal('malformed', 'the URL may not hold U+0000')
  const wrong = (query as Query)[WRONG]
  if (wrong !== undefined) throw wrong
}

/** The caller's own request id if it is harmless in headers and logs, else a new one. */
export function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
