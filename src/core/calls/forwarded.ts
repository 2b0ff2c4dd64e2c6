/**
 * Where a request came from. Behind proxies that is what they say in X-Forwarded-For, which anybody else can write as well:
 * so each step back is taken only while the one who said it is trusted.
 */
import ipaddr from 'ipaddr.js'

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
