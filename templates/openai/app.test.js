/** On a test clock, with a stub of the model: a day passes at once, and nothing sleeps. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { testWakeful } from 'wakeful/testing'
import app from './app.js'

const MINUTE_MS = 60_000
const session_key = 'ann:helper:first'

/** Answers as `/chat/completions` does. */
const answer = (message, finish_reason) => ({
  ...{ id: 'x', object: 'chat.completion', created: 1, model: 'stub' },
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const saying = (content) => answer({ content }, 'stop')
const calling = (name, args) =>
  answer(
    {
      content: null,
      tool_calls: [
        { id: name, type: 'function', function: { name, arguments: JSON.stringify(args) } },
      ],
    },
    'tool_calls',
  )

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
  process.env.MODEL_URL = `http://127.0.0.1:${model.address().port}/v1`
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
