/** A server that wants keys, on a test clock, whose log can be read, and the keys to come in with. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { WebSocket } from 'ws'
import type { Agent } from '../../src/agents/agent.ts'
import { agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { call, type Loose, type Reply } from '../setup/http.ts'
import { databaseEnv, queryAll, type StoreUnderTest } from '../setup/stores.ts'

export const ADMIN_KEY = 'the-admin-key-of-the-environment-0123456789'

export interface Stage {
  readonly app: App
  readonly url: string
  readonly database: string
  /** All that was logged, at the most talkative level. */
  log(): string
  now(): Date
  sleep(ms: number): void
  /** As whoever holds `key`; null sends no key. */
  call(
    key: string | null,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Reply<Loose>>
  /** Makes a key as admin and answers with it. */
  key(body: Record<string, unknown>): Promise<{ id: string; key: string }>
  query<R extends object = Loose>(text: string, values?: readonly unknown[]): Promise<R[]>
  stop(): Promise<void>
}

export async function openStage(
  database: string,
  env: Record<string, string> = {},
  bot: Agent = agent(() => undefined),
): Promise<Stage> {
  let now = new Date('2026-01-01T00:00:00Z')
  let logged = ''
  const app = await App.open({
    config: readConfig({
      ...databaseEnv(database),
      PORT: '0',
      WAKEFUL_AUTH: 'keys',
      WAKEFUL_ADMIN_KEY: ADMIN_KEY,
      WAKEFUL_RATE_PER_SECOND: '100000',
      ...env,
    }),
    agents: new Map([
      ['bot', bot],
      ['other', agent(() => undefined)],
    ]),
    log: pino({ level: 'trace' }, { write: (line: string) => (logged += line) }),
    now: () => now,
  })
  try {
    await app.start()
  } catch (error) {
    await app.stop()
    throw error
  }
  const url = await app.listen()
  const ask: Stage['call'] = (key, method, path, body, headers) =>
    call(`${url}${path}`, method, body, {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    })
  return {
    app,
    url,
    database,
    log: () => logged,
    now: () => now,
    sleep(ms) {
      now = new Date(now.getTime() + ms)
    },
    call: ask,
    async key(body) {
      const made = await ask(ADMIN_KEY, 'POST', '/v1/keys', body)
      if (made.status !== 201) throw new Error(`no key: ${made.text}`)
      return made.body
    },
    query: (text, values) => queryAll(app, text, values),
    stop: () => app.stop(),
  }
}

/** One stage for a suite. */
export function sharedStage(store: StoreUnderTest, env: Record<string, string> = {}): () => Stage {
  let made: Stage | undefined
  beforeAll(async () => {
    made = await openStage(await store.database(), env)
  })
  afterAll(() => made?.stop())
  return () => {
    if (made === undefined) throw new Error('the stage is not open')
    return made
  }
}

/** The first frame of a socket, or the status that refused it. */
export function visit(s: { url: string }, path: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(`${s.url.replace('http', 'ws')}${path}`, { headers })
  const closed = new Promise<number>((done) => socket.on('close', done))
  const first = new Promise<number | string>((done, fail) => {
    socket.on('unexpected-response', (_request, answer) => {
      answer.resume()
      done(answer.statusCode ?? 0)
    })
    socket.on('message', (data) => done(JSON.parse(String(data)).type))
    socket.on('error', fail)
  })
  return { socket, first, closed }
}

/** The first frame, or the status; the socket does not stay. */
export async function opens(
  s: { url: string },
  path: string,
  headers: Record<string, string> = {},
): Promise<number | string> {
  const { socket, first, closed } = visit(s, path, headers)
  const answer = await first
  socket.terminate()
  if (answer === 'ready') await closed
  return answer
}

/** The token that an agent gets for its proof. */
export async function proven(s: Stage, who: ReturnType<typeof signer>): Promise<string> {
  const { did } = who
  const { body } = await s.call(null, 'POST', '/v1/agent/auth/challenge', { did })
  const { nonce } = body
  const proof = { did, public_key: who.publicKey, nonce, signature: who.sign(body.message) }
  return (await s.call(null, 'POST', '/v1/agent/auth/verify', proof)).body.token
}

/** An agent with a key pair of its own. */
export function signer(user: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const hex = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex')
  return {
    publicKey: hex,
    did: `did:matrix:${user}:${hex.slice(0, 16)}`,
    sign: (message: string) => sign(null, Buffer.from(message), privateKey).toString('hex'),
  }
}
