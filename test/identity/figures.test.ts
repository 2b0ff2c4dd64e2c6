/** contract: `GET /v1/agents/{agent_id}` says how an agent does, whether it runs in the process or elsewhere. */
import { expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { TerminalError } from '../../src/core/errors.ts'
import { testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import { call, type Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

eachStore('the figures of an agent', (store) => {
  const ends: (() => Promise<void>)[] = []
  afterEachTest(async () => {
    for (const end of ends.splice(0)) await end()
  })

  it('counts its sessions, turns, failures and calls of the last day, and says what stops it', async () => {
    const made = await testWakeful({
      database: await store.database(),
      agents: {
        bot: agent(
          (turn) => {
            turn.spent({ tokens: 10, usd: 0.25, calls: 2 })
            const { text } = turn.event.payload as { text?: string }
            if (text === 'fail') throw new TerminalError('no luck')
            turn.say('hello')
          },
          { concurrency: 3, perMinute: 60 },
        ),
        other: agent((turn) => turn.say('hello')),
      },
      env: { PORT: '0', LOG_LEVEL: 'silent' },
    })
    ends.push(() => made.stop())
    const url = await made.listen()
    const figures = async (id = 'bot'): Promise<Loose> => {
      const { status, body } = await call(`${url}/v1/agents/${id}`, 'GET')
      expect(status).toBe(200)
      return body
    }
    expect((await figures()).figures).toEqual({
      ...{ sessions: 0, running: 0, turns_24h: 0, failed_24h: 0, error_rate: 0 },
      ...{ p50_ms: null, p95_ms: null, model_calls_24h: 0, cost_24h: null },
      ...{ concurrency: 3, per_minute: 60, stop: null },
    })
    const say = (key: string, text: string) =>
      call(`${url}/v1/sessions/${key}/messages`, 'POST', { text })
    await say('ann:bot:a', 'hi')
    await say('ann:bot:b', 'hi')
    await say('ann:other:a', 'hi')
    await made.settle()
    await call(`${url}/v1/sessions/ann:bot:a/timers/n`, 'PUT', { delay_seconds: 60 })
    await made.advanceBy(60_000)
    await say('bob:bot:a', 'fail')
    await made.settle()
    const { body: stop } = await call(`${url}/v1/stops`, 'POST', {
      ...{ level: 'agent', target: 'bot', reason: 'it repeats itself' },
    })
    await made.settle()
    const seen = await figures()
    expect(seen).toMatchObject({ id: 'bot', kind: 'function', enabled: true })
    expect(seen.figures).toMatchObject({
      ...{ sessions: 3, running: 0, turns_24h: 4, failed_24h: 1, error_rate: 0.25, p50_ms: 0 },
      ...{ model_calls_24h: 6, stop: { id: stop.id, reason: 'it repeats itself' } },
    })
    expect(seen.figures.cost_24h).toBeGreaterThan(0)
    expect((await figures('other')).figures).toMatchObject({
      sessions: 1,
      turns_24h: 1,
      stop: null,
    })
    await made.advanceBy(25 * 3_600_000)
    expect((await figures()).figures).toMatchObject({ turns_24h: 0, p50_ms: null })
    expect((await call(`${url}/v1/agents/nobody`, 'GET')).status).toBe(404)
  })
})
