/** Rule 43: a turn over a person's message always ends in a message to that person. */

import { expect, it } from 'vitest'
import { z } from 'zod'
import * as commands from '../../src/agents/commands.ts'
import { type AgentFunction, agent, type FunctionAgentOptions } from '../../src/agents/function.ts'
import { Refusal } from '../../src/core/errors.ts'
import { failureOf } from '../../src/kernel/run.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const DEFAULT = 'Sorry, something went wrong. Please try again.'
const KEY = 'ann:bot:main'
const fails: AgentFunction = () => {
  throw new Error('the model is down')
}

it.each([
  ['a refusal', new Refusal('rule', 'no such phrase'), true],
  ['a refusal for now', new Refusal('unavailable', 'away'), false],
  ['a type error', new TypeError('x is not a function'), true],
  ['a failed fetch', new TypeError('fetch failed', { cause: new Error('ECONNRESET') }), false],
  ['a range error', new RangeError('Invalid time value'), true],
  ['a syntax error', new SyntaxError('Unexpected end of JSON input'), true],
  ['a zod error', z.string().safeParse(1).error, true],
  ['any other error', new Error('model overloaded'), false],
])('%s: tried again or not', (_, error, terminal) => {
  expect(failureOf(error).terminal).toBe(terminal)
})

eachStore('a turn that fails for good', (store) => {
  const answersOf = async (
    run: AgentFunction,
    options: FunctionAgentOptions = {},
    env: Record<string, string> = {},
  ) => {
    const w = await world(store, { bot: agent(run, options) }, { env })
    await w.say(KEY, 'hello')
    await w.advanceBy(10_000)
    const rows = await w.query<{ payload: string; reason: string; status: string }>(
      'select payload::text as payload, reason, status from wakeful.effects order by position',
    )
    const turns = await w.query('select 1 from wakeful.turns')
    const said = rows.map(({ payload }) => (JSON.parse(payload) as { content: string }).content)
    return { said, reasons: rows.map(({ reason }) => reason), attempts: turns.length }
  }

  it('answers with the default text, after all attempts', async () => {
    expect(await answersOf(fails)).toEqual({ said: [DEFAULT], reasons: ['answer'], attempts: 4 })
  })

  it('answers at once where another attempt cannot succeed', async () => {
    const wrong: AgentFunction = () => {
      throw new TypeError('turn.foo is not a function')
    }
    expect(await answersOf(wrong)).toMatchObject({ said: [DEFAULT], attempts: 1 })
  })

  it('answers after a timeout, too', async () => {
    const hangs: AgentFunction = () => new Promise(() => undefined)
    expect(await answersOf(hangs, { timeoutMs: 1 })).toMatchObject({ said: [DEFAULT] })
  })

  it('says what the environment or the agent says instead, or nothing', async () => {
    const env = { WAKEFUL_FAILURE_TEXT: 'Back soon.' }
    expect(await answersOf(fails, {}, env)).toMatchObject({ said: ['Back soon.'] })
    expect(await answersOf(fails, { failureText: 'Hm.' }, env)).toMatchObject({ said: ['Hm.'] })
    expect(await answersOf(fails, { failureText: false }, env)).toMatchObject({ said: [] })
    expect(await answersOf(fails, {}, { WAKEFUL_FAILURE_TEXT: '' })).toMatchObject({ said: [] })
  })

  it('says what onFailure replies; silence or an error of it leaves the text in place', async () => {
    const onFailure: FunctionAgentOptions['onFailure'] = (turn, error) =>
      turn.say(`Failed: ${(error as Error).message}`)
    expect(await answersOf(fails, { onFailure })).toMatchObject({
      said: ['Failed: the model is down'],
    })
    const silent = { onFailure: () => undefined }
    expect(await answersOf(fails, silent)).toMatchObject({ said: [DEFAULT] })
    expect(await answersOf(fails, { onFailure: fails })).toMatchObject({ said: [DEFAULT] })
  })

  it('says nothing over an alarm: it has a policy of its own', async () => {
    const w = await world(store, { bot: fails })
    await w.call('set_alarm', { kind: 'once', delay_seconds: 1, wake_message: 'x' })
    await w.advanceBy(7_200_000)
    expect(await w.query('select 1 from wakeful.effects')).toEqual([])
  })

  it('goes on with the next message', async () => {
    const w = await world(store, {
      bot(turn) {
        if (turn.event.seq === 1) throw new TypeError('x')
        turn.say('here')
      },
    })
    await w.say(KEY, 'one')
    await w.say(KEY, 'two')
    await w.settle()
    const rows = await w.query<{ said: string }>(
      `select payload ->> 'content' as said from wakeful.effects order by position`,
    )
    expect(rows.map(({ said }) => said)).toEqual([DEFAULT, 'here'])
  })
})

eachStore('what a turn does not await', (store) => {
  const INTENT = {
    intent_name: 'NVDA below 130',
    trigger_type: 'price',
    trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
    action_context: 'say so',
  } as const
  const lived = async (run: AgentFunction) => {
    const w = await world(store, { bot: run })
    await w.say(KEY, 'hello')
    await w.settle()
    const said = await w.query<{ said: string }>(
      `select payload ->> 'content' as said from wakeful.effects order by position`,
    )
    const intents = await w.query('select 1 from wakeful.scheduled_intents')
    return { said: said.map(({ said }) => said), intents: intents.length }
  }

  it('is done before the commit', async () => {
    const forgets: AgentFunction = (turn) => {
      void commands.createIntent(turn, INTENT)
      turn.say('Every day at nine.')
    }
    expect(await lived(forgets)).toEqual({ said: ['Every day at nine.'], intents: 1 })
  })

  it('fails the turn where it was refused', async () => {
    const forgets: AgentFunction = async (turn) => {
      void commands.createIntent(turn, {} as never)
      // Long enough for Node to call the rejection unhandled.
      await new Promise((next) => setImmediate(next))
      turn.say('Done.')
    }
    expect(await lived(forgets)).toEqual({ said: [DEFAULT], intents: 0 })
  })

  it('leaves a refusal that the agent caught to the agent', async () => {
    const catches: AgentFunction = async (turn) => {
      await commands.createIntent(turn, {} as never).catch(() => turn.say('That is not possible.'))
      try {
        await commands.createIntent(turn, {} as never)
      } catch {
        turn.say('Neither is this.')
      }
    }
    const said = ['That is not possible.', 'Neither is this.']
    expect(await lived(catches)).toEqual({ said, intents: 0 })
  })
})
