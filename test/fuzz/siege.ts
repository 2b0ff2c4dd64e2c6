/** A server of its own under hostile requests, frames, tool calls, chats and documents; what it must not do is counted. */
import { Agent } from 'node:http'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { random } from '../faults/measure.ts'
import { Witness } from '../faults/witness.ts'
import { Server } from '../process/server.ts'
import { until } from '../setup/until.ts'
import { BotApi } from '../telegram/bot-api.ts'
import { type Answer, Attack, type Caller } from './attack.ts'
import { documents } from './documents.ts'
import type { Schema } from './generate.ts'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const ADMIN_KEY = 'fuzz-admin-key-0123456789abcdef-0123456789'
const SECRET = 'planted-5e1f9c-of-bob'
const AT_ONCE = 8
/** Of a hundred requests. */
const FRAMES_SHARE = 10
const TOOLS_SHARE = 15
const CHATS_SHARE = 1

export interface Report {
  readonly requests: number
  readonly statuses: ReadonlyMap<number, number>
  readonly found: Attack['found']
  /** Each time the server's event loop was held up for more than 100 ms, and how much of that it was at work. */
  readonly heldUp: readonly HeldUp[]
  readonly documents: {
    readonly tried: number
    readonly slowestMs: number
    readonly thrown: readonly string[]
  }
}

interface HeldUp {
  readonly ms: number
  readonly busyMs: number
}

export async function siege(options: {
  requests: number
  seed: number
  database: string
  folder: string
  say?: (text: string) => void
}): Promise<Report> {
  const loop = new Witness<HeldUp>(`${options.folder}/loop`)
  const bots = await BotApi.start()
  const server = await Server.start({
    DATABASE_URL: options.database,
    WAKEFUL_APP: here('../process/app.mjs'),
    WAKEFUL_AUTH: 'keys',
    WAKEFUL_ADMIN_KEY: ADMIN_KEY,
    WAKEFUL_RATE_PER_SECOND: '1000000',
    WAKEFUL_FILES: `${options.folder}/files`,
    LOG_LEVEL: 'error',
    WITNESS: `${options.folder}/agents`,
    LOOP_WITNESS: loop.file,
    NODE_OPTIONS: `--import ${here('loop.mjs')}`,
    ...bots.env,
  })
  const besieged = await Siege.of(server, bots, options.seed)
  // Its start is no siege.
  const before = loop.all().length
  await besieged.run(options.requests, options.say ?? (() => undefined))
  const heldUp = loop.all().slice(before)
  const { code, signal } = await server.end('SIGTERM')
  if (code !== 0)
    besieged.attack.found.push({
      what: 'no answer',
      request: 'SIGTERM',
      answer: `${code} ${signal} ${server.stderr.slice(-500)}`,
    })
  return {
    requests: options.requests,
    statuses: besieged.attack.statuses,
    found: besieged.attack.found,
    heldUp,
    documents: await documents(
      random(options.seed),
      Math.max(50, Math.floor(options.requests / 50)),
    ),
  }
}

type Keys = Readonly<Record<'admin' | 'ann' | 'user' | 'bob' | 'worker', string>>

class Siege {
  readonly attack: Attack
  readonly #server: Server & { url: string }
  readonly #bots: BotApi
  readonly #agent: Agent
  readonly #tools: { name: string; inputSchema: Schema }[]
  #keys: Keys
  #chat = 1

  private constructor(given: {
    server: Server & { url: string }
    bots: BotApi
    agent: Agent
    attack: Attack
    keys: Keys
    tools: { name: string; inputSchema: Schema }[]
  }) {
    this.#server = given.server
    this.#bots = given.bots
    this.#agent = given.agent
    this.attack = given.attack
    this.#keys = given.keys
    this.#tools = given.tools
  }

  static async of(server: Server & { url: string }, bots: BotApi, seed: number): Promise<Siege> {
    const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
    const keys = await makeKeys(server.url)
    const foreignIds = await plant(server.url, keys.bob)
    const document = await (await fetch(`${server.url}/openapi.json`)).json()
    const attack = new Attack(
      { url: server.url, random: random(seed), secret: SECRET, foreignIds, agent },
      document as ConstructorParameters<typeof Attack>[1],
    )
    const listed = await rpc(attack, keys.admin, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    const tools =
      (
        JSON.parse(listed?.text.replace(/^[\s\S]*?data: /, '') ?? '{}') as {
          result?: { tools?: { name: string; inputSchema: Schema }[] }
        }
      ).result?.tools ?? []
    if (tools.length === 0) throw new Error(`no tools were listed: ${listed?.text}`)
    return new Siege({ server, bots, agent, attack, keys, tools })
  }

  async run(requests: number, say: (text: string) => void): Promise<void> {
    const before = await snapshot(this.#server.url, this.#keys.bob)
    let left = requests
    const lane = async () => {
      while (left-- > 0) {
        await this.#one()
        if (left % 100 === 0) await this.#stillIn()
        if (left % 10_000 === 0 && left > 0)
          say(`${requests - left} requests, ${this.attack.found.length} found`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
    await this.#end(before)
  }

  /** Still there, and nothing of the other owner has changed. */
  async #end(before: string): Promise<void> {
    // An admin among the strangers may have revoked theirs.
    const { bob } = await makeKeys(this.#server.url)
    const after = await snapshot(this.#server.url, bob)
    if (after !== before)
      this.attack.found.push({
        what: 'leak',
        request: 'what belongs to another was changed',
        answer: firstDifference(before, after),
      })
    const health = await fetch(`${this.#server.url}/healthz`)
    if (!health.ok)
      this.attack.found.push({
        what: 'server error',
        request: 'GET /healthz',
        answer: String(health.status),
      })
    const chat = 77_000_000
    this.#bots.write(chat, 'still there?')
    await until('chats are still read', () => this.#bots.texts(chat).length > 0)
    this.#agent.destroy()
  }

  async #one(): Promise<void> {
    const dice = this.attack.generator.whole(100)
    if (dice < CHATS_SHARE) return this.#chats()
    if (dice < CHATS_SHARE + FRAMES_SHARE) return this.#frames()
    if (dice < CHATS_SHARE + FRAMES_SHARE + TOOLS_SHARE) return this.#tool()
    return this.attack.once(this.#caller())
  }

  #caller(): Caller {
    const { admin, ann, user, worker } = this.#keys
    const g = this.attack.generator
    return g.one<Caller>([
      ...[ann, ann, ann, user, worker].map((key) => ({ key, foreign: true })),
      { key: admin, foreign: false },
      { key: g.one([null, 'wrong', `${ann}x`]), foreign: true },
    ])
  }

  /** An admin among the strangers may have revoked a key, and a wrong one is only braked: then others are made. */
  async #stillIn(): Promise<void> {
    const { ann, user, worker } = this.#keys
    for (const key of [ann, user, worker]) {
      const answer = await fetch(`${this.#server.url}/v1/intents/pending?limit=1`, {
        headers: { authorization: `Bearer ${key}` },
      })
      await answer.arrayBuffer()
      if (answer.status !== 401 && answer.status !== 429) continue
      this.#keys = { ...(await makeKeys(this.#server.url)), bob: this.#keys.bob }
      return
    }
  }

  async #tool(): Promise<void> {
    const g = this.attack.generator
    const { name, inputSchema } = g.one(this.#tools)
    const call = `{"jsonrpc":"2.0","id":${g.whole(9)},"method":"tools/call","params":{"name":"${name}","arguments":${g.json(inputSchema)}}}`
    const other = g.one([
      `{"jsonrpc":"2.0","id":1,"method":${g.json({ type: 'string' })}}`,
      `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${g.json({})}}`,
      `[${call},${call}]`,
      g.mangled(call),
    ])
    const body = g.chance(0.8) ? call : other
    this.attack.judge(`POST /mcp ${body}`, await rpc(this.attack, this.#keys.ann, body), {
      key: null,
      foreign: true,
    })
  }

  /** A socket, some frames, and an end; it is closed for what is wrong on the wire alone. */
  async #frames(): Promise<void> {
    const g = this.attack.generator
    const key = g.one(['ann:bot:t', 'ann:bot:t2', 'bob:bot:t', 'a', 'ann:nobody:t'])
    const query = g.one(['', '?events=1', '?ack=none', `?after=${g.whole(99)}`, '?ticket=x'])
    const address = `${this.#server.url.replace(/^http/, 'ws')}/v1/sessions/${key}/socket${query}`
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${this.#keys.ann}` },
    })
    let heard = ''
    socket.on('message', (data) => (heard += String(data)))
    const closed = new Promise<number>((done) => {
      socket.on('close', done)
      socket.on('error', () => socket.terminate())
      socket.on('unexpected-response', (_, response) => {
        this.attack.judge(
          `GET ${address}`,
          { status: response.statusCode ?? 0, type: 'json', text: '' },
          { key: null, foreign: true },
        )
        socket.terminate()
        done(0)
      })
    })
    const opened = new Promise<void>((done) => socket.once('open', () => done()))
    await Promise.race([opened, closed])
    for (let n = g.whole(4); n >= 0 && socket.readyState === WebSocket.OPEN; n--)
      socket.send(this.#frame())
    if (socket.readyState === WebSocket.OPEN) {
      socket.send('{"type":"ping"}')
      await Promise.race([closed, until('a pong', () => heard.includes('"pong"'))])
      socket.close()
    }
    await closed
    this.attack.judge(
      `frames at ${key}`,
      { status: 200, type: 'json', text: heard },
      { key: null, foreign: true },
    )
  }

  #frame(): string | Buffer {
    const g = this.attack.generator
    const type = g.one(['user_message', 'ack', 'ping', 'event', 'ready', 'subscribe'])
    const right = `{"type":"${type}","text":${g.json({ type: 'string' })},"id":${g.json({ type: 'string', format: 'uuid' })}}`
    return g.one<string | Buffer>([
      right,
      right,
      g.mangled(right),
      g.json(undefined),
      Buffer.from(right),
      Buffer.from([0xff, 0xfe, 0x00]),
      '',
    ])
  }

  /** Updates as Telegram would hand them out, and as it would not. */
  async #chats(): Promise<void> {
    const g = this.attack.generator
    const message = g.one<unknown>([
      {
        message_id: this.#chat,
        chat: { id: ++this.#chat, type: 'private' },
        from: { is_bot: false },
        text: g.text({ type: 'string' }),
      },
      {
        message_id: this.#chat,
        chat: { id: this.#chat, type: 'private' },
        text: `/start ${g.text({ type: 'string' })}`,
      },
      JSON.parse(
        g.one([
          'null',
          '{}',
          '{"chat":null}',
          '{"chat":{}}',
          '{"chat":{"id":"x","type":"private"}}',
          '[]',
          '7',
        ]),
      ) as unknown,
      { message_id: 1, chat: { id: 1e300, type: 'private' }, text: 'far' },
    ])
    this.#bots.handOut(message)
  }
}

async function makeKeys(url: string): Promise<Keys> {
  const make = async (body: object) => {
    const answer = await fetch(`${url}/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { key } = (await answer.json()) as { key?: string }
    if (key === undefined) throw new Error(`no key was made: ${answer.status}`)
    return key
  }
  return {
    admin: ADMIN_KEY,
    ann: await make({ role: 'agent', user_id: 'ann' }),
    user: await make({ role: 'user', user_id: 'ann' }),
    bob: await make({ role: 'agent', user_id: 'bob' }),
    worker: await make({ role: 'worker', user_id: 'ann' }),
  }
}

/** Things of another owner, each with the secret in it. Answers with their ids. */
async function plant(url: string, key: string): Promise<string[]> {
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path} was answered with ${answer.status}: ${text}`)
    return JSON.parse(text) as { id?: string; event?: { id: string } }
  }
  const alarm = await post('/v1/alarms', {
    kind: 'once',
    delay_seconds: 3_000_000,
    wake_message: SECRET,
    agent_id: 'bot',
  })
  const intent = await post('/v1/intents', {
    intent_name: SECRET,
    trigger_type: 'cron',
    trigger_schedule: { cron: '0 9 1 1 *' },
    action_context: SECRET,
  })
  const message = await post('/v1/sessions/bob:bot:t/messages', { text: SECRET })
  await until('his message has its answer', async () => {
    const effects = await get(url, key, '/v1/sessions/bob:bot:t/effects')
    return effects.includes('user_message 1')
  })
  return [alarm.id ?? '', intent.id ?? '', message.event?.id ?? '']
}

async function get(url: string, key: string, path: string): Promise<string> {
  const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
  return answer.text()
}

/** All that the other owner can see of his own. */
async function snapshot(url: string, key: string): Promise<string> {
  const paths = [
    '/v1/alarms',
    '/v1/intents',
    '/v1/work',
    '/v1/sessions/bob:bot:t/events',
    '/v1/sessions/bob:bot:t/effects',
  ]
  const texts = await Promise.all(paths.map((path) => get(url, key, path)))
  return texts.join('\n')
}

function firstDifference(a: string, b: string): string {
  const at = [...a].findIndex((letter, n) => letter !== b[n])
  return `${a.slice(Math.max(0, at - 80), at + 80)} → ${b.slice(Math.max(0, at - 80), at + 80)}`
}

function rpc(attack: Attack, key: string, body: string): Promise<Answer | null> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  return attack.send({ method: 'POST', path: '/mcp', headers, body })
}
