/** A graph that stops to ask, and goes on with the next event of its session. */
import { END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { expect, it } from 'vitest'
import { type GraphEvent, langGraphAgent } from '../../packages/langgraph/src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
import { lines, State, say, sent, turns, values } from './graphs.ts'

eachStore('interrupts', (store) => {
  const asking = () =>
    new StateGraph(State)
      .addNode('greet', () => ({ effects: [say('hello')] }))
      .addNode('ask', () => {
        const name = interrupt('Your name?') as GraphEvent
        const city = interrupt({ content: 'Your city?' }) as GraphEvent
        const text = (event: GraphEvent) => (event.payload as { text: string }).text
        return { effects: [say(`${text(name)} of ${text(city)}`)], seen: [name.type] }
      })
      .addEdge(START, 'greet')
      .addEdge('greet', 'ask')
      .addEdge('ask', END)

  it('stops at an interrupt, asks, and resumes with the next event, also twice in one node', async () => {
    const made = await world(store, { graph: langGraphAgent(asking()) })
    await lines(made, 'hi')
    expect(await sent(made)).toEqual(['hello', 'Your name?'])
    await lines(made, 'Ann')
    expect(await sent(made)).toEqual(['hello', 'Your name?', 'Your city?'])
    await lines(made, 'Graz')
    expect(await sent(made)).toEqual(['hello', 'Your name?', 'Your city?', 'Ann of Graz'])
    const proofs = await turns(made)
    expect(proofs.every((turn) => turn.status === 'committed' && turn.checkpoint_id !== null)).toBe(
      true,
    )
    const parents = await made.query<{ own: string; parent: string | null }>(
      'select checkpoint_id as own, parent_checkpoint_id as parent from wakeful.checkpoints',
    )
    expect(parents.every(({ own, parent }) => own !== parent)).toBe(true)
    const state = await values(made)
    expect((state.messages as { content: string }[]).map((message) => message.content)).toEqual([
      'hi',
      'Ann',
      'Graz',
    ])
    await lines(made, 'again')
    expect((await sent(made)).slice(-2)).toEqual(['hello', 'Your name?'])
  })

  it('waits on when the turn over an answer fails', async () => {
    let failures = 1
    const graph = () =>
      new StateGraph(State)
        .addNode('ask', () => {
          const answer = interrupt('Sure?') as GraphEvent
          if (failures-- > 0) throw new Error('no luck')
          return { effects: [say(`${answer.type}: ${JSON.stringify(answer.payload)}`)] }
        })
        .addEdge(START, 'ask')
        .addEdge('ask', END)
    const made = await world(store, { graph: langGraphAgent(graph()) })
    await lines(made, 'delete it', 'yes')
    expect(await sent(made)).toEqual(['Sure?'])
    await made.advanceBy(3_600_000)
    expect(await sent(made)).toEqual(['Sure?', 'user_message: {"text":"yes"}'])
  })

  it('answers several open interrupts one after the other, and sends what stood beside them once', async () => {
    const graph = new StateGraph(State)
      .addNode('name', () => ({
        seen: [`name ${((interrupt('Name?') as GraphEvent).payload as { text: string }).text}`],
      }))
      .addNode('city', () => ({
        seen: [`city ${((interrupt('City?') as GraphEvent).payload as { text: string }).text}`],
      }))
      .addNode('beside', () => ({ effects: [say('beside')] }))
      .addNode('end', ({ seen }) => ({ effects: [say([...seen].sort().join(', '))] }))
      .addEdge(START, 'name')
      .addEdge(START, 'city')
      .addEdge(START, 'beside')
      .addEdge(['name', 'city', 'beside'], 'end')
      .addEdge('end', END)
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'hi', 'one', 'two')
    const all = await sent(made)
    expect(all.filter((text) => text.endsWith('?')).sort()).toEqual(['City?', 'Name?'])
    expect(all.filter((text) => text === 'beside')).toHaveLength(1)
    expect(all.at(-1)).toMatch(/^city (one|two), name (one|two)$/)
    expect(all.at(-1)).toContain('one')
    expect(all.at(-1)).toContain('two')
  })

  it('resumes inside a subgraph', async () => {
    const inner = new StateGraph(State)
      .addNode('ask', () => ({
        seen: [((interrupt('Inner?') as GraphEvent).payload as { text: string }).text],
      }))
      .addEdge(START, 'ask')
      .compile()
    const outer = new StateGraph(State)
      .addNode('inner', inner)
      .addNode('end', ({ seen }) => ({ effects: [say(`got ${seen.join()}`)] }))
      .addEdge(START, 'inner')
      .addEdge('inner', 'end')
    const made = await world(store, { graph: langGraphAgent(outer) })
    await lines(made, 'hi', 'inside')
    expect(await sent(made)).toEqual(['Inner?', 'got inside'])
  })

  it('goes on from a breakpoint with the next event', async () => {
    const graph = new StateGraph(State)
      .addNode('a', () => ({ seen: ['a'] }))
      .addNode('b', ({ event }) => ({ effects: [say(`b at ${event.seq}`)] }))
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .compile({ interruptBefore: ['b'], checkpointer: new MemorySaver() })
    const made = await world(store, { graph: langGraphAgent(graph) })
    await lines(made, 'one')
    expect(await sent(made)).toEqual([])
    await lines(made, 'two')
    expect(await sent(made)).toEqual(['b at 2'])
  })
})
