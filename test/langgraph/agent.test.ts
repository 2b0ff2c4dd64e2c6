/** The LangGraph agent: one run per event, state and effects committed together or not at all. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AIMessage } from '@langchain/core/messages'
import { Annotation, DeltaChannel, END, START, StateGraph } from '@langchain/langgraph'
import { describe, expect, it } from 'vitest'
import {
  type GraphEffect,
  type GraphEvent,
  langGraphAgent,
} from '../../packages/langgraph/src/index.ts'
import type { GraphSaver } from '../../packages/langgraph/src/saver.ts'
import { RetryableError, TerminalError } from '../../src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
import { count, KEY, lines, oneNode, State, say, sent, turns, values } from './graphs.ts'

eachStore('a LangGraph agent', (store) => {
  it('gets the event and the human message, keeps state across turns, and answers with effects', async () => {
    const graph = oneNode(({ event, messages, seen }) => {
      const text = String(messages.at(-1)?.content)
      return {
        seen: [`${event.seq}:${event.type}:${text}`],
        effects: [say(`${seen.length} before ${text}`)],
      }
    })
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one', 'two')
    expect(await sent(made)).toEqual(['0 before one', '1 before two'])
    const state = await values(made)
    expect(state.seen).toEqual(['1:user_message:one', '2:user_message:two'])
    expect((state.messages as unknown[]).length).toBe(2)
    expect(state.event).toMatchObject({
      seq: 2,
      type: 'user_message',
      payload: { text: 'two' },
      created_at: expect.stringMatching(/Z$/),
    })
  })

  it('ends in the newest root checkpoint, with the counters in its metadata, one per turn, each with its parent', async () => {
    const made = await world(store, {
      graph: langGraphAgent(oneNode(() => ({ effects: [say('hi')] }))),
    })
    await lines(made, 'one', 'two')
    const points = await made.query<{
      checkpoint_id: string
      parent_checkpoint_id: string | null
      metadata: string
    }>(
      'select checkpoint_id, parent_checkpoint_id, metadata from wakeful.checkpoints order by checkpoint_id',
    )
    const proofs = await turns(made)
    expect(points.map((point) => point.checkpoint_id)).toEqual(
      proofs.map((turn) => turn.checkpoint_id),
    )
    expect(points[1]?.parent_checkpoint_id).toBe(points[0]?.checkpoint_id)
    expect(JSON.parse(points[1]?.metadata ?? '')).toMatchObject({
      event_seq: 2,
      consecutive_autonomous_msgs: 0,
      last_autonomous_at: null,
      source: 'loop',
    })
    const [head] = await made.query<{ checkpoint_id: string }>(
      'select checkpoint_id from wakeful.sessions',
    )
    expect(head?.checkpoint_id).toBe(points[1]?.checkpoint_id)
  })

  it('starts each turn without effects: what one turn asked for is not asked for again', async () => {
    const started: number[] = []
    const made = await world(store, {
      graph: langGraphAgent(
        oneNode(({ event, effects }) => {
          started.push(effects.length)
          return event.seq === 1 ? { effects: [say('once'), say('twice')] } : {}
        }),
      ),
    })
    await lines(made, 'one', 'two', 'three')
    expect(started).toEqual([0, 0, 0])
    expect(await sent(made)).toEqual(['once', 'twice'])
    expect((await values(made)).effects).toBeUndefined()
  })

  it('takes a new final AI message as the reply when there are no effects, and an old one never again', async () => {
    const made = await world(store, {
      graph: langGraphAgent(
        oneNode(({ event }) => {
          if (event.seq === 1) return { messages: [new AIMessage('hello')] }
          if (event.seq === 2) return { seen: ['nothing to say'] }
          return { messages: [new AIMessage('unsaid')], effects: [say('said')] }
        }),
      ),
    })
    await lines(made, 'one', 'two', 'three')
    expect(await sent(made)).toEqual(['hello', 'said'])
  })

  it('schedules follow-ups, which come back as events, by delay and by instant', async () => {
    const graph = oneNode(({ event }) => {
      if (event.type === 'timer')
        return { effects: [say(`woken by ${JSON.stringify(event.payload)}`)] }
      return {
        effects: [
          {
            type: 'schedule_timer',
            payload: { timer_id: 'soon', delay_seconds: 60, payload: { why: 'check' } },
          },
          {
            type: 'schedule_timer',
            payload: { timer_id: 'later', fire_at: '2026-01-01T01:00:00Z' },
          },
        ],
      }
    })
    const made = await world(
      store,
      { graph: langGraphAgent(graph) },
      { startAt: '2026-01-01T00:00:00Z' },
    )
    await lines(made, 'remind me')
    await made.advanceTo('2026-01-01T00:00:59Z')
    expect(await sent(made)).toEqual([])
    await made.advanceTo('2026-01-01T00:01:00Z')
    expect(await sent(made)).toEqual(['woken by {"timer_id":"soon","payload":{"why":"check"}}'])
    await made.advanceTo('2026-01-01T01:00:00Z')
    expect(await sent(made)).toHaveLength(2)
    const [point] = await made.query<{ metadata: string }>(
      'select metadata from wakeful.checkpoints order by checkpoint_id desc limit 1',
    )
    expect(JSON.parse(point?.metadata ?? '')).toMatchObject({
      event_seq: 3,
      consecutive_autonomous_msgs: 2,
    })
  })

  it('leaves nothing behind when a turn fails (invariant 3), and its retry neither repeats messages nor state', async () => {
    let failures = 2
    const made = await world(store, {
      graph: langGraphAgent(
        new StateGraph(State)
          .addNode('first', ({ event }) => ({
            seen: [`first ${event.seq}`],
            effects: [say('partly done')],
          }))
          .addNode('second', () => {
            if (failures-- > 0) throw new Error('no luck')
            return { messages: [new AIMessage('done')] }
          })
          .addEdge(START, 'first')
          .addEdge('first', 'second')
          .addEdge('second', END),
      ),
    })
    await lines(made, 'go')
    expect((await turns(made)).map((turn) => turn.status)).toEqual(['retrying'])
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'effects'])
      expect(await count(made, table)).toBe(0)
    await made.advanceBy(3_600_000)
    expect((await turns(made)).map((turn) => turn.status)).toEqual([
      'retrying',
      'retrying',
      'committed',
    ])
    expect(await sent(made)).toEqual(['partly done'])
    const state = await values(made)
    expect(state.seen).toEqual(['first 1'])
    expect((state.messages as unknown[]).length).toBe(2)
  })

  it('hands on what a node throws: TerminalError ends the turn, RetryableError waits', async () => {
    const made = await world(store, {
      graph: langGraphAgent(
        oneNode(({ event }) => {
          if (event.seq === 1) throw new TerminalError('never')
          throw new RetryableError({ retryAfterMs: 60_000, message: 'later' })
        }),
      ),
    })
    await lines(made, 'one', 'two')
    expect(await turns(made)).toMatchObject([
      { event_seq: 1, status: 'failed', error: 'never' },
      { event_seq: 2, status: 'retrying', error: 'later' },
    ])
  })

  it('fails the turn for good when an effect is unknown or malformed, and says why', async () => {
    const timer = (payload: object) => ({ type: 'schedule_timer', payload })
    const cases: [unknown, RegExp][] = [
      [
        { type: 'launch_rocket', payload: {} },
        /launch_rocket.*send_message, stay_silent, schedule, cancel, ask, schedule_timer/,
      ],
      [{ type: 'send_message', payload: {} }, /send_message.*not blank/],
      [{ type: 'send_message' }, /send_message.*not blank/],
      [timer({ timer_id: 'a' }), /exactly one of fire_at and delay_seconds/],
      [timer({ timer_id: 'a', fire_at: '2030-01-01T00:00:00Z', delay_seconds: 1 }), /exactly one/],
      [timer({ delay_seconds: 1 }), /takes a timer_id/],
      [timer({ timer_id: 'a', delay_seconds: 'soon' }), /number of seconds/],
      [timer({ timer_id: 'a', fire_at: 'soon' }), /ISO instant/],
      [null, /send_message, stay_silent, schedule, cancel, ask, schedule_timer/],
    ]
    const made = await world(store, {
      graph: langGraphAgent(
        oneNode(({ event }) => ({
          effects: [say('never sent'), cases[event.seq - 1]?.[0] as GraphEffect],
        })),
      ),
    })
    await lines(made, ...cases.map(() => 'go'))
    const found = await turns(made)
    expect(found.map((turn) => turn.status)).toEqual(cases.map(() => 'failed'))
    for (const [at, [, reason]] of cases.entries()) expect(found[at]?.error).toMatch(reason)
    expect(await count(made, 'checkpoints')).toBe(0)
    const sorry = 'Sorry, something went wrong. Please try again.'
    expect(await sent(made)).toEqual(cases.map(() => sorry))
  })

  it('goes on from the same state after a restart of the app on the same database', async () => {
    const database =
      store.name === 'postgres'
        ? await store.database()
        : `pglite:${mkdtempSync(join(tmpdir(), 'wakeful-graph-'))}`
    const agents = () => ({
      graph: langGraphAgent(
        oneNode(({ messages, seen }) => ({
          seen: ['turn'],
          effects: [say(`${messages.length} messages, ${seen.length} turns`)],
        })),
      ),
    })
    const first = await world(store, agents(), { database })
    await lines(first, 'one')
    await first.stop()
    const second = await world(store, agents(), { database })
    await lines(second, 'two')
    expect(await sent(second)).toEqual(['1 messages, 0 turns', '2 messages, 1 turns'])
    await second.stop()
    if (store.name === 'pglite') rmSync(database.slice('pglite:'.length), { recursive: true })
  })

  it('keeps sessions apart and sees no thread but its own', async () => {
    let foreign: unknown = 'unread'
    const graph = langGraphAgent(
      new StateGraph(State)
        .addNode('only', async ({ event }, config) => {
          const saver = config.configurable?.__pregel_checkpointer as GraphSaver
          if (event.seq === 1)
            foreign = await saver.getTuple({ configurable: { thread_id: 'bob:graph:main' } })
          const threads = new Set<string>()
          for await (const tuple of saver.list({ configurable: {} }))
            threads.add(tuple.config.configurable?.thread_id as string)
          return { effects: [say(`sees ${[...threads].join()}`)] }
        })
        .addEdge(START, 'only'),
    )
    const made = await world(store, { graph })
    await made.say('bob:graph:main', 'one')
    await made.settle()
    await lines(made, 'one', 'two')
    expect(foreign).toBeUndefined()
    expect(await sent(made)).toEqual(['sees ', 'sees ', `sees ${KEY}`])
  })
})

describe('langGraphAgent', () => {
  it('refuses what is no graph, a graph that can see no event, and channels that need their whole history', () => {
    expect(() => langGraphAgent({} as never)).toThrow(/takes a StateGraph/)
    expect(() => langGraphAgent(undefined as never)).toThrow(/takes a StateGraph/)
    const blind = new StateGraph(Annotation.Root({ a: Annotation<string>() }))
      .addNode('n', () => ({}))
      .addEdge(START, 'n')
    expect(() => langGraphAgent(blind)).toThrow(/channel event/)
    const delta = Annotation.Root({
      event: Annotation<GraphEvent>(),
      log: new DeltaChannel<string[]>((all) => all),
    })
    const graph = new StateGraph(delta).addNode('n', () => ({})).addEdge(START, 'n')
    expect(() => langGraphAgent(graph)).toThrow(/log.*DeltaChannel/)
  })
})
