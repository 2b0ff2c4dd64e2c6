/**
 * The tools for intents and work over a real client against the real operations: what they do, what they say, and that
 * their answers are what their schemas promise. The client checks each answer against the schema it was shown.
 */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'
import { type Called, connect } from './stage.ts'

type Schema = {
  readonly type?: string
  readonly properties?: Record<string, Schema>
  readonly items?: Schema
}
type Args = Record<string, unknown>

const NVDA = {
  intent_name: 'NVDA below 130',
  trigger_type: 'price',
  trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
  action_context: 'Tell the user that NVDA is below 130',
}
const WEEKLY = {
  ...{ intent_name: 'review', trigger_type: 'cron', trigger_schedule: { cron: '0 9 * * 1' } },
  ...{ action_context: 'Look at the portfolio', timezone: 'Europe/Berlin' },
}
const TASK = { task: 'what happened', agent_type: 'reporting' }
const BERLIN = { frequency: 'every weekday at 8am', timezone: 'Europe/Berlin' }

/** Fields that an answer holds and its schema does not tell of. */
function untold(schema: Schema | undefined, value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => untold(schema?.items, each, `${path}[]`))
  const { properties } = schema ?? {}
  if (properties === undefined || typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) =>
    name in properties ? untold(properties[name], each, `${path}.${name}`) : [`${path}.${name}`],
  )
}

eachStore('the tools of the contract', (store) => {
  let w: World
  let use: (name: string, args?: Args) => Promise<Called>
  let tools: readonly { name: string; outputSchema?: unknown }[]

  beforeEach(async () => {
    w = await world(store, { bot: () => undefined }, { startAt: '2026-11-15T18:40:00Z' })
    const requestInit = { headers: { 'wakeful-act-as': 'ann' } }
    const transport = new StreamableHTTPClientTransport(
      new URL(`${await w.listen()}/mcp?tools=all`),
      {
        requestInit,
      },
    )
    const { client, call } = await connect(transport)
    ;({ tools } = await client.listTools())
    use = async (name, args = {}) => {
      const answer = await call(name, args)
      const schema = tools.find((tool) => tool.name === name)?.outputSchema as Schema | undefined
      if (!answer.isError) expect(untold(schema, answer.data), name).toEqual([])
      expect(answer.said).not.toMatch(/undefined|null|NaN|\[object/)
      return answer
    }
  })
  afterEach(() => w.stop())

  it('are all there', () => {
    const names = [
      ...['set_alarm', 'list_alarms', 'get_alarm', 'cancel_alarm'],
      ...['create_intent', 'list_intents', 'update_intent', 'delete_intent'],
      ...['create_work', 'list_work', 'get_work', 'update_work', 'delete_work', 'preview_schedule'],
    ]
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  })

  it('make, list, change and delete intents, and say so', async () => {
    const made = await use('create_intent', { ...NVDA, agent_id: 'bot' })
    const id = String(made.data.id)
    expect(made.said).toBe(
      `Intent "NVDA below 130" was created and is on: when NVDA is < 130. Next check: today 18:40 UTC, now. Its id is ${id}.`,
    )
    expect((await use('create_intent', NVDA)).data).toMatchObject({ agent_id: 'bot' })
    const weekly = await use('create_intent', { ...WEEKLY, agent_id: null })
    expect(weekly.said).toContain(
      'is on: every Monday at 09:00 (Europe/Berlin). Next check: tomorrow 09:00 Europe/Berlin, in 13 h 20 min; then ',
    )
    expect(weekly.said).toContain('It names no agent_id')
    const all = await use('list_intents')
    expect(all.said).toMatch(/^3 intents, newest first:\n- Intent "review" is on/)
    expect(all.said).not.toContain('There may be more')
    const some = await use('list_intents', { limit: 1 })
    expect(some.said).toContain('There may be more: call again with offset 1.')
    const rest = await use('list_intents', { limit: 1, offset: 2 })
    expect(rest.data.data).toMatchObject([{ id }])
    const off = await use('update_intent', { id, enabled: false })
    expect(off.said).toBe(
      `Intent "NVDA below 130" was changed and is switched off: when NVDA is < 130. Its id is ${id}.`,
    )
    expect((await use('list_intents', { enabled: false })).data.data).toMatchObject([{ id }])
    expect((await use('delete_intent', { id })).said).toContain(`The intent ${id} was deleted`)
    expect((await use('update_intent', { id, enabled: true })).problem?.status).toBe(404)
  })

  it('tell all that is wrong with an intent, by the names that were used', async () => {
    const shape = await use('create_intent', { ...NVDA, action_context: ' ', colour: 'red' })
    expect(shape.problem).toMatchObject({
      status: 422,
      errors: ['action_context: must not be blank', 'colour: is not a known field'],
    })
    const rule = await use('create_intent', { ...WEEKLY, trigger_schedule: {}, agent_id: 'x' })
    expect(rule.problem).toMatchObject({
      status: 400,
      errors: [
        'agent_id: there is no agent x here; known are bot',
        `trigger_schedule.cron required for type 'cron'`,
      ],
    })
    const list = await use('list_intents', { enabled: 'maybe', limit: 0 })
    expect(list.problem?.errors).toEqual([
      'enabled: must be true or false',
      'limit: must be a whole number from 1 to 100',
    ])
  })

  it('have work done once and on a rhythm, and say what came of it', async () => {
    const once = await use('create_work', TASK)
    const { id } = once.data.work as { id: string }
    expect(once.said).toBe(
      `Work "what happened" was created and runs once. Its id is ${id}. Run 1 is pending.`,
    )
    const daily = await use('create_work', { ...TASK, ...BERLIN, run_first: false })
    const other = (daily.data.work as { id: string }).id
    expect(daily.said).toContain(
      'was created and runs every weekday at 08:00 (Europe/Berlin). Next run: tomorrow 08:00 Europe/Berlin, in 12 h 20 min; then Tuesday 2026-11-17 08:00 Europe/Berlin;',
    )
    await w.settle()
    const looked = await use('get_work', { id })
    expect(looked.said).toMatch(/runs once\. Its id is \S+\n- Run 1 is completed: "Activity report/)
    const active = await use('list_work', { active: true })
    expect(active.data.data).toMatchObject([{ id: other }])
    expect((await use('list_work')).said).toMatch(/^2 pieces of work, newest first:/)
    const paused = await use('update_work', { id: other, is_active: false })
    expect(paused.said).toContain(
      'was changed and is paused; its rhythm is every weekday at 08:00 (Europe/Berlin).',
    )
    const resumed = await use('update_work', { id: other, is_active: true, frequency: 'daily' })
    expect(resumed.said).toContain('was changed and runs every day at 09:00 (Europe/Berlin).')
    expect((await use('delete_work', { id: other })).said).toContain('was deleted with all')
    expect((await use('get_work', { id: other })).problem?.status).toBe(404)
  })

  it('tell all that is wrong with work', async () => {
    const rule = await use('create_work', { ...TASK, agent_type: 'nobody', frequency: 'often' })
    expect(rule.problem?.status).toBe(400)
    expect(rule.problem?.errors).toEqual([
      'agent_type: no executor "nobody" does work here; there are content, reporting, research',
      expect.stringMatching(/^frequency: "often" is refused/),
      expect.stringMatching(/^frequency: phrases that work/),
    ])
    const { data } = await use('create_work', TASK)
    const empty = await use('update_work', { id: (data.work as { id: string }).id })
    expect(empty.problem).toMatchObject({ status: 422 })
    expect(empty.said).toContain('needs at least one of is_active')
  })

  it('take a key that makes a retry harmless', async () => {
    const args = { ...NVDA, idempotency_key: 'try-1' }
    const first = await use('create_intent', args)
    expect((await use('create_intent', args)).data).toEqual(first.data)
    const task = { ...TASK, idempotency_key: 'try-2' }
    expect((await use('create_work', task)).data).toEqual((await use('create_work', task)).data)
    expect((await use('list_intents')).data.data).toHaveLength(1)
    expect((await use('list_work')).data.data).toHaveLength(1)
  })
})
