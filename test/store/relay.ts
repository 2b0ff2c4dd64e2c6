/** A TCP relay on loopback before a database: away, there, or cutting an answer at a chosen moment. */
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net'
import { afterEachTest } from '../setup/ends.ts'

const open = new Set<Relay>()
afterEachTest(async () => {
  for (const relay of open) await relay.close()
  open.clear()
})

export class Relay {
  readonly port: number
  readonly #target: URL
  #server: Server | null = null
  readonly #sockets = new Set<Socket>()
  #cutAt: string | null = null
  /** Connections cut by `cutAnswer`. */
  cuts = 0

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

  /** The database's own address, by way of this relay. */
  get url(): string {
    const url = new URL(this.#target)
    url.port = String(this.port)
    return url.href
  }

  listen(): Promise<void> {
    const server = createServer((client) => this.#join(client))
    this.#server = server
    return new Promise((done, fail) => {
      server.once('error', fail).listen(this.port, '127.0.0.1', done)
    })
  }

  /** The next answer that contains `text` does not reach its client: the connection dies instead. */
  cutAnswer(text: string): void {
    this.#cutAt = text
  }

  /** Refuses newcomers and drops everybody. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    for (const socket of this.#sockets) socket.destroy()
    if (server !== null) await new Promise((done) => server.close(done))
  }

  #join(client: Socket): void {
    const server = tcpConnect(Number(this.#target.port), this.#target.hostname)
    const end = () => {
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        end()
      })
    }
    client.pipe(server)
    server.on('data', (answer: Buffer) => {
      if (this.#cutAt === null || !answer.includes(this.#cutAt)) {
        client.write(answer)
        return
      }
      this.#cutAt = null
      this.cuts++
      end()
    })
  }
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().once('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        typeof address === 'object' && address ? done(address.port) : fail(new Error('no port')),
      )
    })
  })
}
