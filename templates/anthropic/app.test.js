/** On a test clock, with a stub of the model: a day passes at once, and nothing sleeps. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { testWakeful } from 'wakeful/testing'
import app from './app.js'

const MINUTE_MS = 60_000
const session_key = 'ann:helper:first'

/** Answers as `/v1/messages` does. */
const answer = (part, stop_reason) => ({
  ...{ id: 'x', type: 'message', role: 'assistant', model: 'stub', stop_reason },
  content: [part],
  usage: { input_tokens: 1, output_tokens: 1 },
})
const saying = (text) => answer({ type: 'text', text }, 'end_turn')
const calling = (name, input) => answer({ type: 'tool_use', id: name, name, input }, 'tool_use')

test('it schedules what it promises, and speaks first when it is due', async () => {
  const answers = [
    calling('schedule', { name: 'stretch', in: '20 minutes', note: 'remind them to stretch' }),
    saying('I will remind you.'),
    calling('send_message', { text: 'Time to stretch!' }),
    saying('Done.'),
  ]
  const model = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers.shift()))
  })
  await new Promise((done) => model.listen(0, '127.0.0.1', done))
  process.env.MODEL_URL = `http://127.0.0.1:${model.address().port}`
  const wakeful = await testWakeful({ database: 'memory:', agents: app.agents })
  try {
    await wakeful.call('post_message', { session_key, text: 'remind me to stretch in 20 minutes' })
    await wakeful.settle()
    await wakeful.advanceBy(20 * MINUTE_MS)
    const { data } = await wakeful.call('list_effects', { session_key })
    const said = data.filter(({ type }) => type === 'send_message')
    assert.deepEqual(
      said.map(({ payload }) => payload.content),
      ['I will remind you.', 'Time to stretch!'],
    )
  } finally {
    await wakeful.stop()
    model.closeAllConnections()
    model.close()
  }
})
