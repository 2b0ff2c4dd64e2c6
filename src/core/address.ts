/** What a network address says by itself, without asking anybody. */
import ipaddr from 'ipaddr.js'

export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback'
}
