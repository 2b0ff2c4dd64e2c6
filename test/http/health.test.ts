/** Health is told from what is known: no question of its own while the database is well, the truth when it is not. */

import { pino } from 'pino'
import { expect, it, type MockInstance, vi } from 'vitest'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { Health } from '../../src/observe/health.ts'
import { call } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'

const AWAY = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

eachStore('health', (store) => {
  it('asks the database nothing while others hear from it, says 503 when it is away, and 200 when it is back', async () => {
    const bare = await bareStore(await store.database())
    const query = vi.spyOn(bare.engine, 'query')
    const health = new Health({
      ...{ store: bare, ready: () => true, version: '1', services: [] },
      onError: () => undefined,
    })
    expect(await health.health()).toMatchObject({ ok: true, body: { due_lag_ms: { timers: 0 } } })
    const asked = query.mock.calls.length
    for (let n = 0; n < 200; n++) expect((await health.health()).ok).toBe(true)
    expect(query.mock.calls.length).toBe(asked)

    query.mockImplementation(() => bare.pulse.of(Promise.reject(AWAY)))
    await expect(bare.engine.query('select 1')).rejects.toThrow('ECONNREFUSED')
    const before = query.mock.calls.length
    const answers = await Promise.all(Array.from({ length: 100 }, () => health.health()))
    expect(answers.map(({ ok }) => ok)).toEqual(answers.map(() => false))
    expect(answers[0]?.body.status).toBe('the database is unreachable')
    expect((await health.health()).ok).toBe(false)
    // However many ask us, it is asked once.
    expect(query.mock.calls.length - before).toBe(1)

    query.mockRestore()
    // Whoever is first to hear from it again tells all.
    await bare.engine.query('select 1')
    expect((await health.health()).ok).toBe(true)
  })

  it('a database that hangs is away after a while, and nobody waits for it longer than two seconds', async () => {
    const bare = await bareStore(await store.database())
    const health = new Health({
      ...{ store: bare, ready: () => true, version: '1', services: [] },
      onError: () => undefined,
    })
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
    let hanging: MockInstance | undefined
    try {
      expect((await health.health()).ok).toBe(true)
      hanging = vi.spyOn(bare.engine, 'query').mockReturnValue(new Promise(() => undefined))
      expect((await health.health()).ok).toBe(true)
      vi.advanceTimersByTime(60_000)
      const asked = health.health()
      await vi.advanceTimersByTimeAsync(2_000)
      expect((await asked).ok).toBe(false)
      expect((await health.health()).ok).toBe(false)
      expect(hanging).toHaveBeenCalledTimes(1)
    } finally {
      hanging?.mockRestore()
      vi.useRealTimers()
    }
  })

  it('a running server looks by itself: no request brings a look about', async () => {
    const env = { DATABASE_URL: await store.database(), PORT: '0' }
    const log = pino({ level: 'silent' })
    const app = await App.open({ config: readConfig(env), agents: new Map(), log })
    try {
      await app.start()
      const url = await app.listen()
      const query = vi.spyOn(app.store.engine, 'query')
      const looks = () =>
        query.mock.calls.filter(([text]) => /as lag from wakeful\.sessions/.test(text)).length
      await until('a look of the loop', () => looks() > 0 || undefined)
      await until('it has ended', async () => (await call(`${url}/healthz`, 'GET')).status === 200)
      const before = looks()
      for (let n = 0; n < 50; n++) expect((await call(`${url}/healthz`, 'GET')).status).toBe(200)
      // The loop goes on looking every few seconds meanwhile; a look for each request would be fifty.
      expect(looks() - before).toBeLessThan(25)
      query.mockRestore()
    } finally {
      await app.stop()
    }
  })
})
