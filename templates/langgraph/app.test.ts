/** On a test clock: a day passes at once, and nothing sleeps. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWakeful } from 'wakeful/testing'
import app from './app.js'

const HOUR_MS = 3_600_000
const session_key = 'ann:tasks:first'

interface Effects {
  readonly data: readonly {
    readonly type: string
    readonly payload: { readonly content: string }
  }[]
}

test('it notes, asks once, and counts what is left', async () => {
  const wakeful = await testWakeful({ database: 'memory:', agents: app.agents })
  const say = async (text: string) => {
    await wakeful.call('post_message', { session_key, text })
    await wakeful.settle()
  }
  try {
    await say('the report')
    await say('the garden')
    await wakeful.advanceBy(24 * HOUR_MS)
    await say('done')
    const { data } = (await wakeful.call('list_effects', { session_key })) as Effects
    const said = data.filter(({ type }) => type === 'send_message')
    assert.deepEqual(
      said.map(({ payload }) => payload.content),
      [
        'Noted: the report',
        'Noted: the garden',
        'How is this going: the report?',
        'Done: the report. 1 left.',
      ],
    )
  } finally {
    await wakeful.stop()
  }
})
