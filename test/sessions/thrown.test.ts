/** Whatever an agent throws is recorded as the failure of its turn, and its conversation goes on (invariant 14). */
import { expect, it } from 'vitest'
import { errorText, RetryableError } from '../../src/core/errors.ts'
import { failureOf } from '../../src/kernel/run.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const hostile = () => {
  throw new Error('from within')
}
const THROWN: Readonly<Record<string, () => unknown>> = {
  'an error whose message throws': () =>
    Object.defineProperty(new Error('x'), 'message', { get: hostile }),
  'an object whose text throws': () => ({ toString: hostile }),
  'an object without a text': () => Object.create(null),
  'a proxy that lets nobody look': () => new Proxy({}, { get: hostile, getPrototypeOf: hostile }),
  'an error whose message is no text': () => Object.assign(new Error('x'), { message: 7 }),
  nothing: () => undefined,
  'an error that wants to be tried again at no time': () =>
    new RetryableError({ retryAfterMs: Number.NaN }),
}

it.each(Object.keys(THROWN))('%s has a text and a failure', (name) => {
  const thrown = THROWN[name]?.()
  expect(errorText(thrown)).toBeTypeOf('string')
  expect(failureOf(thrown).retryAfterMs).toBe(0)
})

it('an agent may ask for patience, but for no instant that cannot be written', () => {
  const wait = (retryAfterMs: number) =>
    failureOf(new RetryableError({ retryAfterMs })).retryAfterMs
  expect(wait(5_000)).toBe(5_000)
  expect(wait(Number.POSITIVE_INFINITY)).toBe(0)
  expect(wait(1e18)).toBe(365 * 86_400_000)
})

eachStore('what agents throw', (store) => {
  it('ends its turn as any error does, and the next message is answered', async () => {
    const names = Object.keys(THROWN)
    const w = await world(store, {
      bot(turn) {
        const thrown = THROWN[(turn.event.payload as { text: string }).text]
        if (thrown !== undefined) throw thrown()
        turn.say('here')
      },
    })
    for (const name of names) {
      await w.say(`ann:bot:${names.indexOf(name)}`, name)
      await w.say(`ann:bot:${names.indexOf(name)}`, 'hello')
    }
    await w.advanceBy(7_000)
    const turns = await w.query<{ status: string }>(
      'select status from wakeful.turns where event_seq = 1 and attempt = 4',
    )
    expect(turns.map(({ status }) => status)).toEqual(names.map(() => 'failed'))
    const said = await w.query(`select 1 from wakeful.effects where payload::text like '%here%'`)
    expect(said).toHaveLength(names.length)
  })
})
