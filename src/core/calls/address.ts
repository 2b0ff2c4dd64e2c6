/** What a network address says by itself, without asking anybody. */

import type { LookupAddress, lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { errorText } from '../errors.ts'

const ROUTED_IPV6 = ipaddr.parseCIDR('2000::/3')

export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}

/** Reachable from everywhere: not loopback, private, link-local, documentation, mapped or translated to any of these. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  // Of IPv6 only 2000::/3 is routed. Outside of it lies ::/96, which some systems translate to IPv4.
  const isRouted = parsed.kind() === 'ipv4' || parsed.match(ROUTED_IPV6)
  return isRouted && parsed.range() === 'unicast'
}

/** Literal addresses and localhost only: what another name resolves to is judged at each connection. */
export function isPrivateHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  if (/(^|\.)localhost\.?$/i.test(bare)) return true
  return ipaddr.isValid(bare) && !isPublicAddress(bare)
}

/** Where web servers listen; anything else is a way to speak to a database or a mail server. */
const WEB_PORTS: ReadonlySet<string> = new Set(['', '80', '443', '8080', '8443'])

/** Why an outgoing call may not go to this URL, or null. The parser has written odd spellings of addresses plainly. */
export function callRefusal(text: string, allowPrivate: boolean): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol)) return 'it is no http:// or https:// URL'
  if (url.username !== '' || url.password !== '') return 'it holds a user name or password'
  if (allowPrivate) return null
  if (isPrivateHost(url.hostname)) return `the private address ${JSON.stringify(url.hostname)}`
  if (!WEB_PORTS.has(url.port)) return `the port ${url.port}, which is not a web port`
  return null
}

/** The same for an agent's address. What is said to an agent is private: it goes unencrypted only where private addresses may be called. */
export function agentUrlRefusal(text: string, allowPrivate: boolean): string | null {
  const refusal = callRefusal(text, allowPrivate)
  if (refusal !== null || allowPrivate || new URL(text).protocol === 'https:') return refusal
  return 'it is no https:// URL'
}

// The check that every outgoing call's connection passes, and what a call that failed says.

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

// Where a request came from. Behind proxies that is what they say in X-Forwarded-For, which anybody else can write as well: so each step back
// is taken only while the one who said it is trusted.

/** So many proxies stand before us, or these networks are theirs. Null: no proxy is trusted. */
export type TrustProxy = number | readonly string[] | null

/** Whether the address that is `hop` steps away is a proxy of ours. */
export type Trusts = (address: string, hop: number) => boolean

const HOPS_MAX = 32
export const TRUST_PROXY_FORM = `a number of proxies up to ${HOPS_MAX}, or addresses and networks such as 10.0.0.0/8, with commas`

/** Undefined for what is neither a number of proxies nor a list of networks. */
export function readTrustProxy(text: string): TrustProxy | undefined {
  if (/^\d{1,2}$/.test(text)) return Number(text) > HOPS_MAX ? undefined : Number(text) || null
  const networks = text.split(',').map((network) => network.trim())
  return networks.every((network) => networkOf(network) !== null) ? networks : undefined
}

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

function networkOf(text: string): Network | null {
  const [address = '', bits, ...more] = text.split('/')
  const parsed = parse(address)
  // A mapped address is an IPv4 one here, and its 96 bits more would count for nothing.
  if (parsed === null || more.length > 0 || /^::ffff:/i.test(address)) return null
  const all = parsed.kind() === 'ipv4' ? 32 : 128
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= all)) return null
  return [parsed, bits === undefined ? all : Number(bits)]
}

export function trustsOf(trust: TrustProxy): Trusts {
  if (trust === null) return () => false
  if (typeof trust === 'number') return (_address, hop) => hop < trust
  const networks = trust.flatMap((text) => {
    const network = networkOf(text)
    return network === null ? [] : [network]
  })
  return (text) => {
    const address = parse(withoutPort(text))
    return (
      address !== null &&
      networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
    )
  }
}

/** As Fastify finds `request.ip` by the same trust: the first address, going back from us, that is not trusted. */
export function callerAddress(remote: string, forwardedFor: unknown, trusts: Trusts): string {
  const said = typeof forwardedFor === 'string' ? forwardedFor.split(',').reverse() : []
  const way = [remote, ...said.map((each) => each.trim()).filter((each) => each !== '')]
  return way.find((address, hop) => !trusts(address, hop)) ?? way.at(-1) ?? remote
}

/** As everybody writes it; null for what is no address. Some proxies add the port. */
export function plainAddress(text: string): string | null {
  return parse(withoutPort(text))?.toString() ?? null
}

function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d{1,5})?$|^([\d.]+):\d{1,5}$/.exec(text)?.slice(1).find(Boolean) ?? text
}

/** Null also for the odd spellings of IPv4 (`10.1`, `0x7f.1`) that nobody means. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (text.includes(':') ? !ipaddr.IPv6.isValid(text) : !ipaddr.IPv4.isValidFourPartDecimal(text))
    return null
  return ipaddr.process(text)
}
