/**
 * Keeps web pages away from a server on loopback, where `open` makes every caller an admin. A page
 * that rebinds its own name to 127.0.0.1 is told by its Host, a page that posts across origins by its
 * Origin. Beyond loopback keys are required, and a proxy's names are not ours to know.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { Refusal } from '../core/errors.ts'

const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i
const LOCAL_ORIGIN = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i

export function checkLocal(headers: IncomingHttpHeaders): void {
  const { host, origin } = headers
  // Browsers always send a Host; what has none (HTTP/1.0) is none.
  if (host !== undefined && !LOCAL_HOST.test(host)) {
    throw new Refusal(
      'forbidden',
      'Host: this server answers to localhost, 127.0.0.1 and [::1] only',
    )
  }
  if (origin !== undefined && !LOCAL_ORIGIN.test(origin)) {
    throw new Refusal('forbidden', 'Origin: pages of other sites may not call this server')
  }
}
