/** contract: `say` and `said` of `wakeful/testing` stand for a person, and a refusal says its HTTP status. */
import { expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { testWakeful } from '../../src/testing.ts'
import { eachStore } from '../setup/stores.ts'

eachStore('a test world', (store) => {
  it('says as a person, and hears what they were told by whom', async () => {
    const echo = agent((turn) => {
      if (turn.event.type !== 'user_message') return turn.say('still there?')
      turn.say(`you said ${turn.event.payload.text}`)
      turn.schedule('nudge', { in: '1 minute', cancelOnReply: true })
    })
    const world = await testWakeful({ database: await store.database(), agents: { echo } })
    try {
      await world.say('ann', 'hi')
      expect(await world.said('ann')).toEqual(['you said hi'])
      await world.advanceBy(60_000)
      await world.say('ann', 'yes', { thread: 'other' })
      expect(await world.said('ann')).toEqual(['you said hi', 'still there?', 'you said yes'])
      expect(await world.said('ann', { thread: 'other' })).toEqual(['you said yes'])
      expect(await world.said('ann', { agent: 'nobody' })).toEqual([])
      expect(await world.said('an')).toEqual([])
    } finally {
      await world.stop()
    }
  })

  it('wants an agent where there are several', async () => {
    const quiet = agent(() => undefined)
    const database = await store.database()
    const world = await testWakeful({
      database,
      agents: { one: quiet, two: agent((turn) => turn.say('two')) },
    })
    try {
      await expect(world.say('ann', 'hi')).rejects.toThrow('say: name the agent: one of one, two')
      await world.say('ann', 'hi', { agent: 'two' })
      expect(await world.said('ann')).toEqual(['two'])
    } finally {
      await world.stop()
    }
  })
})

it('a refusal knows its status', () => {
  expect(new Refusal('conflict', 'no').status).toBe(409)
  expect(new Refusal('shape', 'no').status).toBe(422)
})
