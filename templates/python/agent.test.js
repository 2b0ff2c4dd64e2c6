/** On a test clock: minutes pass at once, and nothing sleeps. The agent is the real one, called over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWakeful } from 'wakeful/testing'
import { introduce, startAgent } from './agent.js'

const MINUTE_MS = 60_000
const session_key = 'ann:echo:first'

test('it answers, and comes back once', async () => {
  // The agent takes no call that was signed more than five minutes away from its own clock, so the test stays near to it.
  const agent = await startAgent({ AGENT_FOLLOW_UP_SECONDS: '60' })
  const wakeful = await testWakeful({
    database: 'memory:',
    agents: {},
    startAt: new Date(),
    env: { WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' },
  })
  try {
    await introduce(wakeful, agent)
    await wakeful.call('post_message', { session_key, text: 'hello' })
    await wakeful.settle()
    await wakeful.advanceBy(2 * MINUTE_MS)
    const { data } = await wakeful.call('list_effects', { session_key })
    const said = data.filter(({ type }) => type === 'send_message')
    assert.deepEqual(
      said.map(({ payload }) => payload.content),
      ['You said: hello', 'Still thinking about: hello'],
    )
  } finally {
    await wakeful.stop()
    agent.stop()
  }
})
