/** Rule 45: who is woken, and where, when a request names neither an agent nor a thread. */
import { expect, it } from 'vitest'
import { remoteDoor } from '../../packages/mcp-stdio/src/remote.ts'
import { callByName } from '../../src/app/operations.ts'
import { wallClock } from '../../src/clock.ts'
import { withDefaultAgent } from '../../src/features/intents/default-agent.ts'
import { wakeful } from '../cli/stage.ts'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'

const CONDITION = { ticker: 'BTC', operator: '>', value: 100_000 }
const INTENT = {
  user_id: 'ann',
  intent_name: 'btc high',
  trigger_type: 'price',
  trigger_condition: CONDITION,
  action_context: 'tell me',
}
type Made = { id: string; agent_id: string | null; notes?: string[] }

async function overHttp(w: World, path: string, body: object): Promise<Made> {
  const answer = await fetch(`${await w.listen()}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'wakeful-act-as': 'ann' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(201)
  return (await answer.json()) as Made
}

eachStore('a request that names no agent and no thread', (store) => {
  const open = (...names: string[]) =>
    world(store, Object.fromEntries(names.map((name) => [name, () => undefined])))
  const sessions = async (w: World) =>
    (await w.query<{ session_key: string }>('select distinct session_key from wakeful.events')).map(
      (row) => row.session_key,
    )

  it('gives an intent to the only agent, in the thread main: library, tools and command line', async () => {
    const w = await open('bot')
    const baseUrl = await w.listen()
    const door = remoteDoor({ baseUrl, now: wallClock })
    const made = [
      (await w.call('create_intent', INTENT)) as Made,
      (await callByName(door, 'create_intent', INTENT)) as Made,
    ]
    const condition = JSON.stringify(CONDITION)
    const args = ['--user', 'ann', '--type', 'price', '--condition', condition, '--json']
    const ran = await wakeful(['intents', 'create', 'btc high', '--context', 'tell me', ...args], {
      env: { WAKEFUL_URL: baseUrl },
    })
    made.push(JSON.parse(ran.stdout) as Made)
    for (const each of made) expect(each).toMatchObject({ agent_id: 'bot', thread_id: null })
    await w.call('post_signal', { kind: 'price', ticker: 'BTC', price: 100_001 })
    await w.settle()
    expect(await sessions(w)).toEqual(['ann:bot:main'])
  })

  it('leaves an intent over HTTP to outside workers, and says so', async () => {
    const w = await open('bot')
    const made = await overHttp(w, '/v1/intents', INTENT)
    expect(made).toMatchObject({
      agent_id: null,
      notes: [expect.stringContaining('/v1/intents/pending')],
    })
    const named = await w.call('create_intent', { ...INTENT, agent_id: 'bot' })
    expect(named).not.toHaveProperty('notes')
  })

  it('wakes the thread main with an alarm', async () => {
    const w = await open('bot')
    const alarm = await overHttp(w, '/v1/alarms', { schedule: 'in 1 minute', wake_message: 'tea' })
    expect(alarm).toMatchObject({ agent_id: 'bot', conversation_id: 'main' })
    await w.advanceBy(60_000)
    expect(await sessions(w)).toEqual(['ann:bot:main'])
  })

  it('is refused where there are several agents', async () => {
    const w = await open('bot', 'other')
    const refused = 'agent_id: say who is woken; known are bot, other'
    await expect(w.call('create_intent', INTENT)).rejects.toThrow(refused)
    const ran = await wakeful(['intents', 'create', 'x'], {
      env: { WAKEFUL_URL: await w.listen() },
    })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--agent: say who') })
  })
})

it('only an intent is completed, and null means outside workers', async () => {
  const agents = () => ['bot']
  const given = async (name: string, args: object) => withDefaultAgent(name, { ...args }, agents)
  expect(await given('create_intent', {})).toEqual({ agent_id: 'bot' })
  expect(await given('create_intent', { agent_id: null })).toEqual({ agent_id: null })
  expect(await given('create_work', {})).toEqual({})
  expect(await withDefaultAgent('create_intent', {}, () => [])).toEqual({})
})
