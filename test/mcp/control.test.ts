/** What keeps agents in hand, as a real client of MCP has it: promises, questions, and the switch with what it holds (invariants 3 and 10). */
import { setImmediate as tickOnce } from 'node:timers/promises'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
import { connect } from './stage.ts'

const MINUTE = 60_000
const KEY = 'local:bot:main'

eachStore('over MCP', (store) => {
  const open = async () => {
    const w = await world(store, {
      bot: (turn) => {
        const { text } = turn.event.payload as { text?: string }
        if (turn.event.type === 'alarm') turn.say('It is time.')
        else if (text === 'send it') turn.ask('Really?', { options: ['Yes', 'No'] })
        else if (text !== undefined) turn.say(`You said ${text}.`)
      },
    })
    const { call } = await connect(
      new StreamableHTTPClientTransport(new URL(`${await w.listen()}/mcp`)),
    )
    const sent = async () => {
      const rows = await w.query<{ payload: string }>(
        `select payload from wakeful.effects where type = 'send_message' order by created_at, position`,
      )
      return rows.map(({ payload }) => (JSON.parse(payload) as Loose).content as string)
    }
    /** A promise is answered when its turn is over, and turns run when they are let. */
    const promise = async (schedule: string) => {
      let over = false
      const made = call('promise', { ...promised, schedule }).finally(() => {
        over = true
      })
      for (; !over; await tickOnce()) await w.settle()
      return made
    }
    return { w, call, promise, sent }
  }
  const promised = { session_key: KEY, text: 'I will tell you in ten minutes.' }

  it('a promise is told and kept, and one without a time says nothing', async () => {
    const { w, promise, sent } = await open()
    const refused = await promise('every nonsense')
    expect(refused.isError).toBe(true)
    await w.settle()
    expect(await sent()).toEqual([])
    const made = await promise('in 10 minutes')
    expect(made.isError, made.said).toBe(false)
    await w.advanceBy(10 * MINUTE)
    expect(await sent()).toEqual([promised.text, 'It is time.'])
  })

  it('a question is listed and answered once', async () => {
    const { w, call, sent } = await open()
    await w.call('post_message', { session_key: KEY, text: 'send it' })
    await w.settle()
    const listed = (await call('list_questions')).data as Loose
    expect(listed.data).toMatchObject([{ text: 'Really?', status: 'open', options: ['Yes', 'No'] }])
    const { id } = listed.data[0]
    const wrong = await call('answer_question', { id, answer: 'Perhaps' })
    expect(wrong.problem?.errors).toEqual(['answer: takes one of "Yes", "No"'])
    const answered = await call('answer_question', { id, answer: 'yes' })
    expect(answered.data).toMatchObject({ question: { status: 'answered', answer: 'Yes' } })
    expect((await call('answer_question', { id, answer: 'No' })).problem?.status).toBe(409)
    await w.settle()
    expect(await sent()).toEqual(['Really?', 'You said Yes.'])
  })

  it('a stopped agent is held, shown with what waits, and goes on when it is resumed', async () => {
    const { w, call, promise, sent } = await open()
    await promise('in 10 minutes')
    const stop = (await call('stop', { level: 'agent', target: 'bot', reason: 'too loud' })).data
    await w.advanceBy(10 * MINUTE)
    expect(await sent()).toEqual([promised.text])
    const held = await call('get_stop', { id: stop.id })
    expect(held.data).toMatchObject({
      words: expect.stringContaining('Nothing of it runs until it is resumed'),
      held: [{ session_key: KEY, kind: 'alarm', waiting: 1 }],
    })
    const listed = (await call('list_stops')).data as Loose
    expect(listed.data).toMatchObject([{ level: 'agent', target: 'bot', reason: 'too loud' }])
    expect((await call('resume_stop', { id: stop.id })).data).toMatchObject({ ended: 'resumed' })
    await w.settle()
    expect(await sent()).toEqual([promised.text, 'It is time.'])
  })
})
