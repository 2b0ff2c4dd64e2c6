/** Remote agents between processes, the example in Python, and one behind `handleTurn`, on the real clock. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { agent, handleTurn } from '../../packages/remote/src/index.ts'
import { type Live, openLive } from '../sessions/live.ts'
import { receiver } from '../setup/listening-app.ts'
import { PYTHON } from '../setup/python.ts'
import { dropDatabases, eachStore, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { type FetchServer, serveFetch } from './fetch-server.ts'

const PACKAGE = fileURLToPath(new URL('../../packages/python/src', import.meta.url))
const EXAMPLE = fileURLToPath(new URL('../../examples/remote-agent/agent.py', import.meta.url))
const ENV = { WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true', WAKEFUL_LEASE_MS: '6000' }

const running = new Set<Live>()
const children = new Set<ChildProcess>()
const servers = new Set<FetchServer>()
afterEach(async () => {
  for (const child of children) child.kill()
  children.clear()
  await Promise.all([...servers].map((each) => each.stop()))
  servers.clear()
  await Promise.all([...running].map((each) => each.app.stop()))
  running.clear()
})

async function live(database: string, env: Record<string, string> = {}): Promise<Live> {
  const made = await openLive(database, { bot: () => undefined }, { ...ENV, ...env })
  running.add(made)
  return made
}

const say = (one: Live, key: string, text: string) =>
  one.call('POST', `/v1/sessions/${key}/messages`, { text })
const said = async (one: Live, key: string): Promise<string[]> => {
  const { body } = await one.call('GET', `/v1/sessions/${key}/effects`)
  return (body.data ?? [])
    .filter((effect: { type: string }) => effect.type === 'send_message')
    .map((effect: { payload: { content: string } }) => effect.payload.content)
}

describe('between processes', () => {
  it('an agent registered in one is known in the other, and forgotten when it is removed', async () => {
    const made: string[] = []
    const database = await postgresDatabase(made)
    const one = await live(database)
    // The other runs no turns: it must take messages for an agent that only the table tells it of.
    const two = await live(database, { WAKEFUL_SERVICES: 'http' })
    const server = await receiver((_, response) =>
      response.end('{"effects":[{"type":"send_message","content":"from afar"}]}'),
    )
    await one.call('POST', '/v1/agents', { id: 'far', url: server.url })
    await until(
      'known in the other',
      async () => (await say(two, 'ann:far:t', 'hi')).status === 202,
    )
    await until('answered', async () => (await said(two, 'ann:far:t')).length > 0)
    await two.call('DELETE', '/v1/agents/far')
    expect((await say(two, 'ann:far:t', 'hi')).status).toBe(404)
    await until(
      'forgotten in the first',
      async () => (await say(one, 'ann:far:t', 'hi')).status === 404,
    )
    // What was said in between has failed, not waited.
    await until('all done', async () => {
      const { body } = await one.call('GET', '/v1/sessions/ann:far:t')
      return body.done_seq === body.last_seq
    })
    await Promise.all([...running].map((each) => each.app.stop()))
    running.clear()
    await dropDatabases(made)
  })
})

/** Starts an agent that answers what it hears and comes back once; answers with its address. */
type Starting = (secret: string) => Promise<string>

const python: Starting = async (secret) => {
  const child = spawn(PYTHON, [EXAMPLE, '0'], {
    env: {
      ...process.env,
      ...{ AGENT_SECRET: secret, AGENT_FOLLOW_UP_SECONDS: '0.1', PYTHONPATH: PACKAGE },
      PYTHONDONTWRITEBYTECODE: '1',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.add(child)
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  await until('it listens', () => text.includes('\n'))
  return `${/http:\S+/.exec(text)?.[0]}/`
}

const echo = agent<{ said: string[] }>((turn) => {
  const { event, state } = turn
  if (event.type === 'user_message') {
    state.said = [...(state.said ?? []), event.payload.text]
    turn.say(`You said: ${event.payload.text}`)
    turn.schedule('check-in', { in: 0.1, cancelOnReply: true })
  } else if (event.type === 'timer') turn.say(`Still thinking about: ${state.said?.at(-1)}`)
})
const handled: Starting = async (secret) => {
  const server = await serveFetch((request) => handleTurn(request, echo, { secret }))
  servers.add(server)
  return server.url
}

function keepsItsWord(start: Starting): void {
  eachStore('it', (store) => {
    it('checks the signature, answers, remembers, and follows up', async () => {
      const one = await live(await store.database(), { AUTONOMY_COOLDOWN_MS: '0' })
      const secret = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
      const url = await start(secret)
      expect((await one.call('POST', '/v1/agents', { id: 'echo', url, secret })).status).toBe(201)
      await say(one, 'ann:echo:t', 'hello')
      await until('a follow-up', async () => (await said(one, 'ann:echo:t')).length >= 2)
      expect(await said(one, 'ann:echo:t')).toEqual([
        'You said: hello',
        'Still thinking about: hello',
      ])
      // With another secret it does not listen.
      await one.call('POST', '/v1/agents', { id: 'stranger', url })
      await say(one, 'ann:stranger:t', 'hello')
      const turns = async () =>
        (await one.call('GET', '/v1/sessions/ann:stranger:t/turns')).body.data
      await until('refused', async () => (await turns())[0]?.status === 'failed')
      expect((await turns())[0].error).toContain('HTTP 401')
    })
  })
}

describe.skipIf(PYTHON === '')('the example in Python', () => keepsItsWord(python))
describe('an agent behind handleTurn', () => keepsItsWord(handled))
