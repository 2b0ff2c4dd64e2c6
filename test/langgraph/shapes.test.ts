/** Graphs of other shapes, sizes and pasts. */
import { AIMessage } from '@langchain/core/messages'
import { Send, START, StateGraph } from '@langchain/langgraph'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { langGraphAgent } from '../../packages/langgraph/src/index.ts'
import { pruneCheckpoints } from '../../src/store/prune.ts'
import { eachStore } from '../setup/stores.ts'
import { jitter } from '../setup/until.ts'
import { ref, world } from '../setup/worlds.ts'
import {
  type Change,
  count,
  KEY,
  lines,
  oneNode,
  type Seen,
  State,
  say,
  sent,
  turns,
  values,
} from './graphs.ts'

eachStore('a LangGraph agent', (store) => {
  it('runs fan-out by Send, and a subgraph that remembers', async () => {
    const memory = new StateGraph(State)
      .addNode('count', ({ seen }) => ({ seen: [`visit ${seen.length}`] }))
      .addEdge(START, 'count')
      .compile({ checkpointer: true })
    const graph = new StateGraph(State)
      .addNode('fan', () => ({}))
      .addNode('leaf', ({ seen }) => ({ seen: [`leaf ${seen.join()}`] }))
      .addNode('memory', async (_state, config) => {
        const { seen } = (await memory.invoke({}, config)) as Seen
        return { effects: [say(seen.join())] }
      })
      .addEdge(START, 'fan')
      .addConditionalEdges('fan', () =>
        ['x', 'y'].map((each) => new Send('leaf', { seen: [each] })),
      )
      .addEdge('leaf', 'memory')
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two')
    expect((await values(made)).seen).toEqual(['leaf x', 'leaf y', 'leaf x', 'leaf y'])
    expect(await sent(made)).toEqual(['visit 0', 'visit 0,visit 1'])
  })

  it('schedules in its effects: the message and its alarm together; a refused time ends the turn with neither', async () => {
    const graph = oneNode(({ event }) => {
      const at = event.seq === 1 ? 'tomorrow at 9am' : 'often'
      const content = 'I will'
      const said = { type: 'send_message' as const, payload: { content } }
      return { effects: [said, { type: 'schedule', payload: { name: 'call', at } }] }
    })
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two')
    expect(await sent(made)).toEqual(['I will', 'Sorry, something went wrong. Please try again.'])
    expect(await count(made, 'alarms')).toBe(1)
    expect((await turns(made)).map(({ status }) => status)).toEqual(['committed', 'failed'])
  })

  it('reports the tokens of the messages that are new, with the turn', async () => {
    const usage_metadata = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    const graph = oneNode(({ event }) =>
      event.seq === 3
        ? {}
        : { messages: [new AIMessage({ content: 'hi', usage_metadata } as never)] },
    )
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two', 'three')
    const rows = await made.query<{ metadata: string }>(
      `select metadata from wakeful.checkpoints where checkpoint_ns = '' order by created_at, checkpoint_id`,
    )
    const spent = { tokens: 15, usd: 0, calls: 1 }
    expect(rows.map(({ metadata }) => JSON.parse(metadata).spent)).toEqual([
      spent,
      spent,
      undefined,
    ])
  })

  it('takes a state given as a zod schema, with plain effects', async () => {
    const schema = z.object({
      event: z.any(),
      effects: z.array(z.any()).optional(),
      turns: z.number().optional(),
    })
    const graph = new StateGraph(schema)
      .addNode('only', ({ event, turns: before = 0 }) => ({
        turns: before + 1,
        ...(event.seq === 2 ? {} : { effects: [say(`turn ${before + 1}`)] }),
      }))
      .addEdge(START, 'only')
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two', 'three')
    expect(await sent(made)).toEqual(['turn 1', 'turn 3'])
  })

  it('gives up a run that takes too long, and tells its nodes by the signal', async () => {
    let told = () => {}
    const aborted = new Promise<void>((done) => {
      told = done
    })
    const graph = new StateGraph(State)
      .addNode(
        'slow',
        (_state, config) =>
          new Promise<Change>((_, reject) => {
            config.signal?.addEventListener('abort', () => {
              told()
              reject(new Error('aborted'))
            })
          }),
      )
      .addEdge(START, 'slow')
    const made = await world(store, { graph: langGraphAgent(graph, { timeoutMs: 50 }) })
    await made.say(KEY, 'go')
    await made.settle()
    await aborted
    expect((await turns(made))[0]).toMatchObject({
      status: 'retrying',
      error: expect.stringMatching(/50 ms/),
    })
    expect(await count(made, 'checkpoints')).toBe(0)
  })

  it('loses nothing it needs when old checkpoints are pruned', async () => {
    const graph = oneNode(({ event, messages, seen }) => ({
      ...(event.seq === 1 ? { seen: ['first'] } : {}),
      effects: [say(`${messages.length} ${seen.join()}`)],
    }))
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two', 'three')
    await pruneCheckpoints(made.app.store.db, 1, 100)
    expect(await count(made, 'checkpoints')).toBe(1)
    await lines(made, 'four')
    expect((await sent(made)).at(-1)).toBe('4 first')
  })

  it('starts anew where another kind of agent spoke before', async () => {
    const made = await world(store, {
      graph: langGraphAgent(oneNode(({ messages }) => ({ effects: [say(`${messages.length}`)] }))),
    })
    const { bucket } = ref(KEY)
    await made.query(
      `insert into wakeful.checkpoints (bucket, thread_id, checkpoint_id, type, checkpoint, created_at) values ($1, $2, 'ff', 'state', '{"a":1}', now())`,
      [bucket, KEY],
    )
    await made.query(
      `insert into wakeful.sessions (bucket, session_key, user_id, agent_id, thread_id, checkpoint_id, created_at, updated_at)
       values ($1, $2, 'ann', 'graph', 'main', 'ff', now(), now())`,
      [bucket, KEY],
    )
    await lines(made, 'one', 'two')
    expect(await sent(made)).toEqual(['1', '2'])
  })

  it('runs one graph for many sessions at once and mixes nothing up', async () => {
    const graph = oneNode(async ({ event, messages, seen }) => {
      await jitter(event.seq)
      const heard = messages.map((message) => message.text).join()
      return { seen: [heard], effects: [say(`${heard} after ${seen.join(';')}`)] }
    })
    const made = await world(store, { graph: langGraphAgent(graph) })
    const users = Array.from({ length: 40 }, (_, at) => `user${at}`)
    for (const turn of ['a', 'b']) {
      await Promise.all(users.map((user) => made.say(`${user}:graph:main`, `${user}${turn}`)))
      await made.settle()
    }
    const rows = await made.query<{ session_key: string; payload: string }>(
      'select session_key, payload from wakeful.effects order by session_key, position',
    )
    expect(rows).toHaveLength(80)
    for (const { session_key: key, payload } of rows) {
      const user = key.split(':')[0]
      const { content } = JSON.parse(payload) as { content: string }
      expect([`${user}a after `, `${user}a,${user}b after ${user}a`]).toContain(content)
    }
  })

  it('keeps text that JSON and PostgreSQL disagree about, and refuses a state beyond all measure', async () => {
    const odd = 'NUL \u0000, half a pair \ud800, “quotes”, \u2028'
    const graph = oneNode(({ event, seen }) => {
      if (event.seq === 3) return { seen: ['x'.repeat(17 * 1024 * 1024)] }
      return event.seq === 1 ? { seen: [odd] } : { effects: [say(JSON.stringify(seen))] }
    })
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two', 'three')
    expect(await sent(made)).toEqual([
      JSON.stringify([odd]),
      'Sorry, something went wrong. Please try again.',
    ])
    expect((await turns(made))[2]).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/at most 16777216 bytes/),
    })
  })
})
