/**
 * Keeps web pages away. A server on loopback, where `open` makes every caller an admin, answers to local names only: a page
 * that rebinds its own name to 127.0.0.1 is told by its Host, a page that calls across origins by its Origin or by what
 * its browser says of it. Beyond loopback keys are required, and a proxy's names are not ours to know; sockets, which
 * browsers open across origins without asking, are for pages of the same host and those of `WAKEFUL_ORIGINS`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { isLoopback } from '../core/calls/address.ts'
import { Refusal } from '../core/errors.ts'

const HOST = /^(\[[^\]]+\]|[^:[\]]+)(?::\d{1,5})?$/
const ORIGIN = /^https?:\/\/(.+)$/i

/** `localhost` or a literal loopback address: what needs no name server cannot be rebound. */
function isLocalHost(host: string): boolean {
  if (host === lastLocal) return true
  const name = HOST.exec(host)?.[1]
  const isLocal = name !== undefined && isLoopback(name.replace(/^\[(.*)\]$/, '$1'))
  if (isLocal) lastLocal = host
  return isLocal
}

/** A client says the same with each of its requests. */
let lastLocal: string | undefined

/** `peer`: where the connection comes from; absent for a Unix socket. */
export function checkLocal(headers: IncomingHttpHeaders, peer?: string): void {
  const { host, origin } = headers
  // A host server that this one is mounted in may listen beyond loopback.
  if (peer !== undefined && !isLoopback(peer))
    throw new Refusal(
      'forbidden',
      `open access is for this machine only, and the caller is ${peer}: set WAKEFUL_AUTH=keys`,
    )
  // Browsers always send a Host; a client without one (HTTP/1.0) is not a browser.
  if (host !== undefined && !isLocalHost(host)) {
    throw new Refusal(
      'forbidden',
      'Host: this server answers to localhost, 127.0.0.1 and [::1] only',
    )
  }
  if (origin !== undefined && !isLocalHost(ORIGIN.exec(origin)?.[1] ?? '')) throw foreignPage()
  // An image, script or form of another site sends no Origin with a GET. Following a link is fine.
  if (headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate')
    throw foreignPage()
}

function foreignPage(): Refusal {
  return new Refusal('forbidden', 'Origin: pages of other sites may not call this server')
}

/** For sockets beyond loopback. Without an Origin it is no page. */
export function checkOrigin(headers: IncomingHttpHeaders, allowed: readonly string[]): void {
  const { origin } = headers
  if (origin === undefined || allowed.includes(origin.toLowerCase())) return
  const name = ORIGIN.exec(origin)?.[1]?.toLowerCase()
  const own = [headers.host, headers['x-forwarded-host']].map((host) => String(host).toLowerCase())
  if (name !== undefined && own.includes(name)) return
  throw new Refusal(
    'forbidden',
    'Origin: pages of other sites may not open sockets here, unless WAKEFUL_ORIGINS names them',
  )
}
