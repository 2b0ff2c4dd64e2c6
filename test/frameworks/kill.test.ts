/**
 * Agents of other frameworks in a process that is killed amid their turns, once between two calls of the model and once in a
 * follow-up: another goes on, and each thing is said and set once (invariants 3 and 4).
 */
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { type FakeModel, fakeModel, type Say } from '../agents/fake-model.ts'
import { ensureBuilt, folder, post, Server } from '../process/server.ts'
import type { Loose } from '../setup/http.ts'
import { oneStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ADAPTERS, appOf, saying, using } from './frameworks.ts'

/** Three starts of a server each. */
const TIMEOUT_MS = 240_000

/** The model never answers. */
const holding: Say = () => undefined

let model: FakeModel | undefined
afterEach(() => model?.stop())

// What a kill leaves in either store is held by test/process, with agents that load in no time.
oneStore('killed amid a turn', (store) => {
  it.each(ADAPTERS)(
    'an agent of %s goes on, with one message each',
    async (framework) => {
      ensureBuilt()
      const KEY = `ann:${framework === 'langgraph-chat' ? 'chat' : 'helper'}:main`
      const alarm = using('schedule', { name: 'dough', in: '2 hours' })
      const fake = await fakeModel(alarm, holding)
      model = fake
      const database =
        store.name === 'pglite' ? `pglite:${join(folder(), 'data')}` : await store.database()
      const env = {
        DATABASE_URL: database,
        WAKEFUL_APP: appOf(framework),
        // Longer than a crowded machine may stand still: whoever does not extend it in time has died.
        WAKEFUL_LEASE_MS: '4000',
        WAKEFUL_MODEL_URL: fake.url,
        WAKEFUL_MODEL: 'fake-1',
      }
      const asked = (count: number) =>
        until(`${count} calls of the model`, () => fake.asked.length >= count)

      const first = await Server.start(env)
      expect(await post(first.url, KEY, { text: 'I bake bread.' })).toMatchObject({ status: 202 })
      await asked(2)
      await first.end('SIGKILL')

      fake.asked.splice(0)
      fake.answers = [
        alarm,
        using('schedule', { name: 'nudge', in: 1, cancel_on_reply: true }),
        saying('Nice!'),
        holding,
      ]
      const second = await Server.start(env)
      await asked(4)
      await second.end('SIGKILL')

      fake.answers = [using('send_message', { text: 'Rye or wheat?' }), saying('')]
      const third = await Server.start(env)
      const read = async (path: string): Promise<Loose[]> =>
        ((await (await fetch(`${third.url}${path}`)).json()) as Loose).data
      const messages = async () =>
        (await read(`/v1/sessions/${KEY}/effects`)).filter(({ type }) => type === 'send_message')
      await until('both messages', async () => (await messages()).length >= 2)
      expect((await messages()).map(({ payload }) => payload.content)).toEqual([
        'Nice!',
        'Rye or wheat?',
      ])
      expect(await read('/v1/alarms')).toHaveLength(1)
      expect(await read(`/v1/sessions/${KEY}/turns`)).toMatchObject([
        { event_seq: 1, status: 'committed' },
        { event_seq: 2, status: 'committed' },
      ])
    },
    TIMEOUT_MS,
  )
})
