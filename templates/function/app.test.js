/** On a test clock: a day passes at once, and nothing sleeps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWakeful } from 'wakeful/testing'
import app from './app.js'

const HOUR_MS = 3_600_000
const session_key = 'ann:companion:first'

test('it answers, reminds, and looks in once', async () => {
  const wakeful = await testWakeful({ database: 'memory:', agents: app.agents })
  const say = async (text) => {
    await wakeful.call('post_message', { session_key, text })
    await wakeful.settle()
  }
  try {
    await say('hello')
    await say('remind me in 20 minutes to stretch')
    await say('thank you')
    await wakeful.advanceBy(24 * HOUR_MS)
    const { data } = await wakeful.call('list_effects', { session_key })
    const said = data.filter(({ type }) => type === 'send_message')
    assert.deepEqual(
      said.map(({ payload }) => payload.content),
      [
        'That is number 1: hello',
        'I will remind you in 20 minutes.',
        'That is number 2: thank you',
        'Now: stretch',
        'Is there anything I can do?',
      ],
    )
  } finally {
    await wakeful.stop()
  }
})
