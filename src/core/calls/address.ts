/** What a network address says by itself, without asking anybody. */
import ipaddr from 'ipaddr.js'

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
