/** An app that runs by itself on the real clock, and WebSocket clients that remember what they were told. */
import { afterAll, beforeAll } from 'vitest'
import { WebSocket } from 'ws'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import type { App } from '../../src/app/app.ts'
import { openApp } from '../../src/index.ts'
import { afterEachTest } from '../setup/ends.ts'
import { call, type Loose, type Reply } from '../setup/http.ts'
import { databaseEnv, queryAll, type StoreUnderTest } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

export interface Live {
  readonly app: App
  readonly url: string
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply<Loose>>
  query<R extends object = Loose>(text: string, values?: readonly unknown[]): Promise<R[]>
}

export async function openLive(
  database: string,
  agents: Record<string, AgentFunction>,
  env: Record<string, string> = {},
): Promise<Live> {
  const app = await openApp({
    agents: Object.fromEntries(Object.entries(agents).map(([name, run]) => [name, agent(run)])),
    env: { PORT: '0', LOG_LEVEL: 'silent', ...databaseEnv(database), ...env },
  })
  await app.start()
  const url = await app.listen()
  return {
    app,
    url,
    call: (method, path, body, headers) => call(`${url}${path}`, method, body, headers),
    query: (text, values) => queryAll(app, text, values),
  }
}

/** Opened before the suite, closed after it; each test uses sessions of its own. */
export function live(
  store: StoreUnderTest,
  agents: Record<string, AgentFunction>,
  env: Record<string, string> = {},
): () => Live {
  let made: Live | undefined
  beforeAll(async () => {
    made = await openLive(await store.database(), agents, env)
  })
  afterAll(async () => {
    await made?.app.stop()
  })
  return () => {
    if (made === undefined) throw new Error('the app is not open')
    return made
  }
}

const clients = new Set<Client>()
afterEachTest(() => {
  for (const client of clients) client.drop()
  clients.clear()
})

export class Client {
  readonly frames: Loose[] = []
  readonly socket: WebSocket
  closed: number | null = null

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data) => this.frames.push(JSON.parse(String(data))))
    socket.on('close', (code) => {
      this.closed = code
    })
    socket.on('error', () => undefined)
    clients.add(this)
  }

  /** Connected, and greeted. */
  static async open(url: string, key: string, query = ''): Promise<Client> {
    const client = new Client(
      new WebSocket(`${url.replace('http', 'ws')}/v1/sessions/${key}/socket${query}`),
    )
    await client.until('ready', (frames) => frames.length > 0)
    return client
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame))
  }

  say(text: string, id?: string): void {
    this.send({ type: 'user_message', text, ...(id === undefined ? {} : { id }) })
  }

  ack(id: string): void {
    this.send({ type: 'ack', id })
  }

  of(type: string): Loose[] {
    return this.frames.filter((frame) => frame.type === type)
  }

  /** What the agent said, asked or unasked. */
  get heard(): Loose[] {
    return this.frames.filter((f) => f.type === 'message' || f.type === 'agent_follow_up')
  }

  async until(what: string, so: (frames: Loose[]) => boolean): Promise<void> {
    await until(what, () => so(this.frames))
  }

  async hears(count: number): Promise<Loose[]> {
    await this.until(`${count} messages`, () => this.heard.length >= count)
    return this.heard
  }

  /** Everything sent before was taken: the server answers frames in their order. */
  async roundTrip(): Promise<void> {
    const before = this.of('pong').length
    this.send({ type: 'ping' })
    await this.until('pong', () => this.of('pong').length > before)
  }

  drop(): void {
    this.socket.terminate()
  }
}

/** An upgrade that is refused: its status and problem. */
export function refused(
  url: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Loose }> {
  return new Promise((done, fail) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers })
    socket.on('error', fail)
    socket.on('open', () => {
      socket.terminate()
      fail(new Error('it was let in'))
    })
    socket.on('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => done({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
    })
  })
}
