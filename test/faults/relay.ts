/**
 * A TCP relay of our own on loopback. Each connection that comes in is handed on; what happens to its bytes can be changed while
 * it lives: pass, wait, drop one direction, swallow both, reset, cut after so many bytes or at a message that contains something.
 */
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net'
import { afterEachTest } from '../setup/ends.ts'
import { freePort } from '../setup/server.ts'

export interface Weather {
  /** Each chunk waits so long, in each direction. */
  readonly delayMs?: number
  /** At most so many bytes a second, in each direction. */
  readonly bytesPerSecond?: number
  /** What is sent this way is swallowed; the connection stays. */
  readonly drop?: 'to server' | 'to client' | 'both'
  /** The connection is reset after so many bytes of answers. */
  readonly cutAfter?: number
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** What the client has said so far, from its beginning; enough to tell who it is. */
  said: string
  answered: number
  weather: Weather
}

const open = new Set<Relay>()
afterEachTest(async () => {
  for (const relay of open) await relay.close()
  open.clear()
})

const SAID_MAX = 64 * 1024

export class Relay {
  readonly port: number
  readonly #target: URL
  readonly #pairs = new Set<Pair>()
  #server: Server | null = null
  #weather: Weather = {}
  #cutAt: string | null = null
  /** Connections cut by `cutAnswer` or `cutAfter`. */
  cuts = 0
  connections = 0

  private constructor(target: string, port: number) {
    this.#target = new URL(target)
    this.port = port
  }

  /** Reserves a port and listens on it, or leaves it closed until `listen` is called. */
  static async before(target: string, options: { away?: boolean } = {}): Promise<Relay> {
    const relay = new Relay(target, await freePort())
    open.add(relay)
    if (!options.away) await relay.listen()
    return relay
  }

  /** The target's own address, by way of this relay. */
  get url(): string {
    const url = new URL(this.#target)
    url.port = String(this.port)
    return url.href
  }

  async listen(): Promise<void> {
    const server = createServer((client) => this.#join(client))
    this.#server = server
    await new Promise<void>((done, fail) => {
      server.once('error', fail).listen(this.port, '127.0.0.1', done)
    })
  }

  /** For connections that come from now on, and for those that are there or one of both. */
  set(weather: Weather, which: 'all' | 'there' | 'new' = 'all'): void {
    if (which !== 'there') this.#weather = weather
    if (which !== 'new') for (const pair of this.#pairs) pair.weather = weather
  }

  /** For those whose client has said this. Answers how many they are. */
  setWhere(said: string, weather: Weather): number {
    const pairs = [...this.#pairs].filter((pair) => pair.said.includes(said))
    for (const pair of pairs) pair.weather = weather
    return pairs.length
  }

  /** Connections whose client has said this and whose bytes go through. */
  passing(said: string): number {
    const through = ({ weather }: Pair) => weather.drop === undefined
    return [...this.#pairs].filter((pair) => pair.said.includes(said) && through(pair)).length
  }

  /** The next answer that contains `text` does not reach its client: the connection dies instead. */
  cutAnswer(text: string): void {
    this.#cutAt = text
  }

  reset(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy()
      server.destroy()
    }
  }

  /** Refuses newcomers and drops everybody. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    for (const { client, server: far } of this.#pairs) {
      client.destroy()
      far.destroy()
    }
    if (server !== null) await new Promise((done) => server.close(done))
  }

  #join(client: Socket): void {
    this.connections++
    const server = tcpConnect(Number(this.#target.port), this.#target.hostname)
    const pair: Pair = { client, server, said: '', answered: 0, weather: this.#weather }
    this.#pairs.add(pair)
    const end = () => {
      this.#pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', end)
      socket.on('close', end)
    }
    client.on('data', (chunk: Buffer) => {
      if (pair.said.length < SAID_MAX) pair.said += chunk.toString('latin1')
      const { drop } = pair.weather
      if (drop !== 'to server' && drop !== 'both') hand(client, server, chunk, pair.weather)
    })
    server.on('data', (chunk: Buffer) => this.#answer(pair, chunk))
  }

  #answer(pair: Pair, chunk: Buffer): void {
    const { weather, client, server } = pair
    const { drop, cutAfter = Number.POSITIVE_INFINITY } = weather
    pair.answered += chunk.length
    const named = this.#cutAt !== null && chunk.includes(this.#cutAt)
    if (named) this.#cutAt = null
    if (named || pair.answered > cutAfter) {
      this.cuts++
      client.resetAndDestroy()
      server.destroy()
    } else if (drop !== 'to client' && drop !== 'both') hand(server, client, chunk, weather)
  }
}

/** Hands a chunk on, now or later; the order of chunks is kept, since all of one direction wait equally long or block it. */
function hand(
  from: Socket,
  to: Socket,
  chunk: Buffer,
  { delayMs = 0, bytesPerSecond }: Weather,
): void {
  const write = () => void (to.destroyed || to.write(chunk))
  const waitMs =
    delayMs + (bytesPerSecond === undefined ? 0 : (chunk.length / bytesPerSecond) * 1000)
  if (waitMs === 0) {
    write()
    return
  }
  if (bytesPerSecond !== undefined) from.pause()
  setTimeout(() => {
    write()
    if (bytesPerSecond !== undefined) from.resume()
  }, waitMs)
}
