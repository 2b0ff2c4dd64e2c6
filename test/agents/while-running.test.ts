/** Messages that arrive while a turn of their session runs. */
import { expect, it } from 'vitest'
import { agent, type Turn } from '../../src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t'
const TURNS = `select event_seq, status, attempt from wakeful.turns where session_key = '${KEY}' order by event_seq, attempt`
const SAID = `select payload ->> 'content' as text from wakeful.effects order by position`

/** An agent whose first turn ends when the test says so. */
function held(whileRunning: 'queue' | 'merge' | 'interrupt') {
  const seen: { text: string; merged: string[]; aborted: boolean; attempt: number }[] = []
  let go: () => void = () => undefined
  const gate = new Promise<void>((done) => {
    go = done
  })
  const textOf = ({ payload }: Turn['event']) => (payload as { text: string }).text
  const bot = agent(
    async (turn) => {
      const each = { text: textOf(turn.event), merged: turn.merged.map(textOf), aborted: false }
      const mine = { ...each, attempt: turn.attempt }
      seen.push(mine)
      turn.state.turns = Number(turn.state.turns ?? 0) + 1
      turn.say(`to ${[...mine.merged, mine.text].join(' + ')}`)
      if (seen.length > 1) return
      turn.signal.addEventListener('abort', () => {
        mine.aborted = true
        go()
      })
      await gate
    },
    { whileRunning },
  )
  return { bot, seen, go: () => go() }
}

eachStore('a message while a turn runs', (store) => {
  async function opened(whileRunning: 'queue' | 'merge' | 'interrupt') {
    const { bot, ...rest } = held(whileRunning)
    const w = await world(store, { bot })
    const run = async () => {
      await w.say(KEY, 'one')
      const settled = w.settle()
      await until('the first turn runs', () => rest.seen.length === 1)
      return settled
    }
    return { w, run, ...rest }
  }

  it('queue: each has a turn of its own', async () => {
    const { w, run, seen, go } = await opened('queue')
    const settled = run()
    await until('it runs', () => seen.length === 1)
    await w.say(KEY, 'two')
    await w.say(KEY, 'three')
    go()
    await settled
    await w.settle()
    expect(seen.map(({ text }) => text)).toEqual(['one', 'two', 'three'])
    expect(seen.every(({ merged }) => merged.length === 0)).toBe(true)
  })

  it('merge: those that have arrived are one turn, and one commit ends them all', async () => {
    const { w, run, seen, go } = await opened('merge')
    const settled = run()
    await until('it runs', () => seen.length === 1)
    for (const text of ['two', 'three', 'four']) await w.say(KEY, text)
    go()
    await settled
    await w.settle()
    expect(seen.map(({ text, merged }) => [...merged, text])).toEqual([
      ['one'],
      ['two', 'three', 'four'],
    ])
    expect(await w.query(TURNS)).toEqual([
      { event_seq: 1, status: 'committed', attempt: 1 },
      { event_seq: 4, status: 'committed', attempt: 1 },
    ])
    expect(await w.query(SAID)).toEqual([{ text: 'to one' }, { text: 'to two + three + four' }])
    expect(await w.query('select last_seq, done_seq, due_at from wakeful.sessions')).toEqual([
      { last_seq: 4, done_seq: 4, due_at: null },
    ])
  })

  it('invariant 1: merge takes no message from behind another event', async () => {
    const { w, run, seen, go } = await opened('merge')
    const settled = run()
    await until('it runs', () => seen.length === 1)
    await w.say(KEY, 'two')
    await w.call('post_tool_result', {
      session_key: KEY,
      tool_id: 'x',
      payload: { text: 'tool' },
    } as never)
    await w.say(KEY, 'three')
    go()
    await settled
    await w.settle()
    expect(seen.map(({ merged }) => merged.length)).toEqual([0, 0, 0, 0])
    expect(seen.map(({ text }) => text)).toEqual(['one', 'two', undefined, 'three'])
  })

  it('interrupt: the running turn is aborted, nothing of it is written, and the next answers both', async () => {
    const { w, run, seen } = await opened('interrupt')
    const settled = run()
    await until('it runs', () => seen.length === 1)
    await w.say(KEY, 'two')
    await settled
    await w.settle()
    expect(seen).toEqual([
      { text: 'one', merged: [], aborted: true, attempt: 1 },
      { text: 'two', merged: ['one'], aborted: false, attempt: 1 },
    ])
    expect(await w.query(TURNS)).toEqual([{ event_seq: 2, status: 'committed', attempt: 1 }])
    expect(await w.query(SAID)).toEqual([{ text: 'to one + two' }])
    // Not a failure and not a death.
    expect(await w.query('select attempt, deaths, due_at from wakeful.sessions')).toEqual([
      { attempt: 0, deaths: 0, due_at: null },
    ])
    const [state] = await w.query<{ checkpoint: string }>(
      `select checkpoint from wakeful.checkpoints where thread_id = '${KEY}'`,
    )
    expect(JSON.parse(state?.checkpoint ?? '')).toEqual({ turns: 1 })
  })

  it('interrupt: a turn that nobody asked for goes on', async () => {
    const types: string[] = []
    let go: () => void = () => undefined
    const bot = agent(
      async (turn) => {
        types.push(turn.event.type)
        if (turn.event.type === 'timer')
          await new Promise<void>((done) => {
            go = done
            turn.signal.addEventListener('abort', () => done())
          })
        turn.say(turn.event.type)
      },
      { whileRunning: 'interrupt' },
    )
    const w = await world(store, { bot })
    await w.call('put_timer', { session_key: KEY, timer_id: 'a', delay_seconds: 1 })
    const advancing = w.advanceBy(1_000)
    await until('it runs', () => types.length === 1)
    await w.say(KEY, 'hi')
    go()
    await advancing
    await w.settle()
    expect(types).toEqual(['timer', 'user_message'])
    expect(await w.query(SAID)).toEqual([{ text: 'timer' }, { text: 'user_message' }])
  })
})

it('is one of three', () => {
  expect(() => agent(() => undefined, { whileRunning: 'now' as never })).toThrow(
    'whileRunning: must be one of queue, merge, interrupt, got now',
  )
})
