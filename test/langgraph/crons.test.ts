/** Crons of LangGraph's API, asked for by LangGraph's own client: each is an alarm that runs the agent of its name. */
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { Client } from '@langchain/langgraph-sdk'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  effectsChannel,
  type GraphEvent,
  langGraphAgent,
} from '../../packages/langgraph/src/index.ts'
import { agent } from '../../src/index.ts'
import { ADMIN_KEY, openStage } from '../identity/stage.ts'
import { afterEachTest } from '../setup/ends.ts'
import { INSTANT, type Loose, UUID } from '../setup/http.ts'
import { type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const HOUR = 3_600_000

/** Answers with what it was told, what its run was configured with, and how many messages it has seen. */
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  event: Annotation<GraphEvent>(),
  effects: effectsChannel,
  topic: Annotation<string>(),
})
const graph = new StateGraph(State)
  .addNode('only', ({ messages, topic, event }, config) => {
    const content = [
      `${event.type} ${messages.length}: ${messages.at(-1)?.text}`,
      topic ?? '-',
      config.configurable?.tone ?? '-',
      (config as { context?: { team?: string } }).context?.team ?? '-',
    ].join(' | ')
    return {
      messages: [{ role: 'assistant', content }],
      effects: [{ type: 'send_message' as const, payload: { content } }],
    }
  })
  .addEdge(START, 'only')
  .addEdge('only', END)

const agents = {
  graph: langGraphAgent(graph),
  plain: agent((turn) => {
    const { wake_message, payload } = turn.event.payload as Loose
    turn.say(`${wake_message} ${JSON.stringify(payload.input)}`)
  }),
}

const input = { messages: [{ role: 'user', content: 'sum up the day' }] }

eachStore('LangGraph crons', (store) => {
  const at = sharedStage(store, { agents })
  let s: Stage
  let crons: Client['crons']
  beforeEach(() => {
    s = at()
    crons = new Client({ apiUrl: s.url, apiKey: null }).crons
  })

  const said = async (): Promise<string[]> =>
    (await s.query(`select payload from wakeful.effects order by created_at, position`)).map(
      (row) => JSON.parse(row.payload).content,
    )

  it('are made, found, counted, changed and deleted by the client as it is', async () => {
    const daily = await crons.create('graph', {
      schedule: '0 9 * * *',
      timezone: 'Europe/Berlin',
      input,
      metadata: { team: 'blue', size: 3 },
    })
    expect(daily).toEqual({
      cron_id: expect.stringMatching(UUID),
      assistant_id: 'graph',
      thread_id: null,
      on_run_completed: 'keep',
      end_time: null,
      schedule: '0 9 * * *',
      timezone: 'Europe/Berlin',
      created_at: expect.stringMatching(INSTANT),
      updated_at: expect.stringMatching(INSTANT),
      payload: { input },
      user_id: 'local',
      next_run_date: '2026-01-01T08:00:00.000Z',
      metadata: { team: 'blue', size: 3 },
      enabled: true,
    })
    const threaded = await crons.createForThread('thread-1', 'plain', { schedule: '0 * * * *' })
    expect(threaded).toMatchObject({ thread_id: 'thread-1', assistant_id: 'plain' })

    expect(await crons.search()).toMatchObject([
      { cron_id: threaded.cron_id },
      { cron_id: daily.cron_id },
    ])
    const ids = async (query: Parameters<typeof crons.search>[0]) =>
      (await crons.search(query)).map((cron) => cron.cron_id)
    expect(await ids({ sortBy: 'next_run_date', sortOrder: 'desc' })).toEqual([
      daily.cron_id,
      threaded.cron_id,
    ])
    expect(await ids({ assistantId: 'graph' })).toEqual([daily.cron_id])
    expect(await ids({ threadId: 'thread-1' })).toEqual([threaded.cron_id])
    expect(await ids({ metadata: { team: 'blue' } })).toEqual([daily.cron_id])
    expect(await ids({ metadata: { team: 'red' } })).toEqual([])
    expect(await ids({ limit: 1, offset: 1 })).toEqual([daily.cron_id])
    expect(await crons.search({ select: ['schedule', 'enabled'], limit: 1 })).toEqual([
      { schedule: '0 * * * *', enabled: true },
    ])
    expect(await crons.count()).toBe(2)
    expect(await crons.count({ assistantId: 'plain', threadId: 'thread-1' })).toBe(1)
    expect(await crons.count({ metadata: { size: 3 } })).toBe(1)

    const changed = await crons.update(daily.cron_id, {
      schedule: '30 10 * * *',
      metadata: { size: 4 },
      endTime: '2026-01-02T00:00:00Z',
    })
    expect(changed).toMatchObject({
      cron_id: daily.cron_id,
      schedule: '30 10 * * *',
      timezone: 'Europe/Berlin',
      end_time: '2026-01-02T00:00:00.000Z',
      next_run_date: '2026-01-01T09:30:00.000Z',
      payload: { input },
      metadata: { team: 'blue', size: 4 },
    })
    expect(await crons.update(daily.cron_id, { endTime: null })).toMatchObject({ end_time: null })
    expect(await crons.delete(daily.cron_id)).toBeUndefined()
    expect(await ids({})).toEqual([threaded.cron_id])
    await s.advanceBy(30 * 60_000)
    expect(await said()).toEqual([])
  })

  it('run a graph with their input, config and context, on their thread', async () => {
    const cron = await crons.createForThread('thread-1', 'graph', {
      schedule: '0 * * * *',
      input: { ...input, topic: 'sales', effects: ['not ours to take'] },
      config: { configurable: { tone: 'dry', thread_id: 'elsewhere' } },
      context: { team: 'blue' },
    })
    await s.advanceBy(2 * HOUR)
    expect(await said()).toEqual([
      'alarm 1: sum up the day | sales | dry | blue',
      'alarm 3: sum up the day | sales | dry | blue',
    ])
    const [session, ...others] = await s.query('select session_key from wakeful.sessions')
    expect([session?.session_key, others]).toEqual(['local:graph:thread-1', []])
    const [seen] = await crons.search()
    expect(seen).toMatchObject({
      cron_id: cron.cron_id,
      next_run_date: '2026-01-01T03:00:00.000Z',
      enabled: true,
    })
  })

  it('run on a fresh thread each time without one, and tell any agent in words', async () => {
    await crons.create('plain', { schedule: '0 * * * *', input })
    await crons.create('plain', { schedule: '30 * * * *' })
    await s.advanceBy(2 * HOUR)
    expect(await said()).toEqual([
      'It is time: 30 * * * * undefined',
      `sum up the day ${JSON.stringify(input)}`,
      'It is time: 30 * * * * undefined',
      `sum up the day ${JSON.stringify(input)}`,
    ])
    expect(await s.query('select 1 from wakeful.sessions')).toHaveLength(4)
  })

  it('rest while they are disabled, and end at their end', async () => {
    const cron = await crons.create('plain', { schedule: '0 * * * *', input, enabled: false })
    expect(cron).toMatchObject({ enabled: false, next_run_date: null })
    await s.advanceBy(HOUR)
    expect(await said()).toEqual([])
    expect(await crons.search({ enabled: true })).toEqual([])
    const on = await crons.update(cron.cron_id, {
      enabled: true,
      endTime: '2026-01-01T03:00:00Z',
    })
    expect(on).toMatchObject({ enabled: true, next_run_date: '2026-01-01T02:00:00.000Z' })
    await s.advanceBy(5 * HOUR)
    expect(await said()).toHaveLength(2)
    expect(await crons.search()).toMatchObject([{ enabled: false, next_run_date: null }])
    await crons.update(cron.cron_id, { metadata: { over: true } })
    await expect(crons.update(cron.cron_id, { enabled: true })).rejects.toThrow(/never fires again/)
    expect(await crons.update(cron.cron_id, { enabled: true, endTime: null })).toMatchObject({
      enabled: true,
      next_run_date: '2026-01-01T07:00:00.000Z',
    })
    await crons.update(cron.cron_id, { enabled: false })
    await s.advanceBy(HOUR)
    expect(await said()).toHaveLength(2)
  })

  it('are shown as what they became where their alarm was cancelled', async () => {
    const cron = await crons.create('plain', { schedule: '0 * * * *' })
    const { body } = await s.call('GET', '/v1/alarms')
    expect(body.data).toMatchObject([{ label: 'LangGraph cron', agent_id: 'plain' }])
    await s.call('DELETE', `/v1/alarms/${body.data[0].id}`)
    expect(await crons.search()).toMatchObject([{ cron_id: cron.cron_id, enabled: false }])
  })

  it('refuse what is not kept here, with a reason for each', async () => {
    const refusal = async (payload: object) => {
      const { status, body } = await s.call('POST', '/runs/crons', {
        assistant_id: 'plain',
        schedule: '0 9 * * *',
        ...payload,
      })
      return { status, errors: body.errors ?? [] }
    }
    const foreign = {
      webhook: 'https://hook.example',
      interrupt_before: ['a'],
      multitask_strategy: 'rollback',
      on_run_completed: 'delete',
      stream_mode: 'values',
    }
    const { status, errors } = await refusal(foreign)
    expect(status).toBe(400)
    expect(errors.map((text: string) => text.split(':', 1)[0])).toEqual(Object.keys(foreign))
    const same = { multitask_strategy: 'enqueue', on_run_completed: 'keep', webhook: null }
    expect(await refusal({ ...same, durability: 'exit', timezone: null })).toEqual({
      status: 200,
      errors: [],
    })
    expect(await refusal({ schedule: '* * * * * *' })).toMatchObject({
      status: 400,
      errors: [expect.stringMatching(/^schedule: /)],
    })
    expect(await refusal({ end_time: '2025-01-01T00:00:00Z' })).toMatchObject({ status: 400 })
    expect(await refusal({ metadata: 'no object' })).toMatchObject({ status: 400 })
    expect(await refusal({ timezone: 'Mars/Base' })).toMatchObject({ status: 400 })
    expect(await refusal({ schedule: undefined })).toMatchObject({ status: 422 })
    expect(await refusal({ unknown: 1 })).toMatchObject({ status: 422 })
    expect(await refusal({ input: 'x'.repeat(65_000), context: { y: 'y'.repeat(2_000) } })).toEqual(
      { status: 422, errors: [expect.stringContaining('65536 bytes together')] },
    )
    await expect(crons.create('nobody', { schedule: '0 9 * * *' })).rejects.toThrow(
      /there is no assistant nobody; known are graph, plain/,
    )
    await expect(crons.delete('none')).rejects.toMatchObject({ status: 404 })
    expect(await crons.count()).toBe(1)
  })
})

describe('a key', () => {
  const open: { stop(): Promise<void> }[] = []
  afterEachTest(async () => {
    await Promise.all(open.splice(0).map((each) => each.stop()))
  })

  it('is shown as LangGraph’s client shows it, and opens its owner’s crons alone', async () => {
    const s = await openStage('memory:')
    open.push(s)
    const cronsOf = async (body: Record<string, unknown>) =>
      new Client({ apiUrl: s.url, apiKey: (await s.key(body)).key }).crons
    const ann = await cronsOf({ role: 'agent', user_id: 'ann' })
    const bound = await cronsOf({ role: 'agent', user_id: 'ann', agent_id: 'bot' })
    const bea = await cronsOf({ role: 'agent', user_id: 'bea' })
    const reader = await cronsOf({ role: 'user', user_id: 'ann' })
    const made = await ann.create('bot', { schedule: '0 9 * * *' })
    expect(made).toMatchObject({ user_id: 'ann' })
    expect(await bea.count()).toBe(0)
    await expect(bea.delete(made.cron_id)).rejects.toMatchObject({ status: 404 })
    await expect(bea.update(made.cron_id, {})).rejects.toMatchObject({ status: 404 })
    await expect(bound.create('other', { schedule: '0 9 * * *' })).rejects.toMatchObject({
      status: 404,
    })
    await expect(reader.create('bot', { schedule: '0 9 * * *' })).rejects.toMatchObject({
      status: 403,
    })
    expect(await reader.count()).toBe(1)
    expect(await new Client({ apiUrl: s.url, apiKey: ADMIN_KEY }).crons.count()).toBe(1)
    await expect(
      new Client({ apiUrl: s.url, apiKey: 'wrong' }).crons.count(),
    ).rejects.toMatchObject({ status: 401 })
    await reader.delete(made.cron_id)
    expect(await ann.count()).toBe(0)
  })
})
