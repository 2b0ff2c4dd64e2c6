/** What is known of a message on its way to a socket, and what is told of it. */
import { expect, it } from 'vitest'
import { eventsWaiting } from '../../src/features/sessions/rows.ts'
import type { Loose } from '../setup/http.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { Client } from './live.ts'

const KEY = 'ann:bot:t'

eachStore('messages over sockets', (store) => {
  const at = sharedStage(store, { agents: { bot: (turn) => turn.say('hello') } })
  const effects = async (): Promise<Loose[]> =>
    (await at().call('GET', `/v1/sessions/${KEY}/effects`)).body.data
  const deliveries = async (result: string) => {
    const { text } = await at().call('GET', '/metrics')
    const line = new RegExp(
      `^wakeful_deliveries_total\\{channel="websocket",result="${result}"\\} (\\d+)$`,
      'm',
    )
    return Number(line.exec(text)?.[1] ?? 0)
  }

  it('one that nobody acknowledged waits again and says why; acknowledged, it says by which channel', async () => {
    const s = at()
    const before = [await deliveries('failed'), await deliveries('acknowledged')]
    await s.call('POST', `/v1/sessions/${KEY}/messages`, { text: 'hi' })
    await s.settle()
    const untold = { channel: null, attempt_count: 0, last_error: null, last_attempt_at: null }
    expect(await effects()).toMatchObject([{ status: 'pending', ...untold }])

    const hasty = await Client.open(s.url, KEY)
    await s.settle()
    await hasty.hears(1)
    await s.settle()
    expect(await effects()).toMatchObject([
      { status: 'executing', channel: null, attempt_count: 1 },
    ])
    hasty.drop()
    const closed = { status: 'pending', channel: null, last_error: 'websocket_closed' }
    await until('it waits again', async () => (await effects())[0].status === 'pending')
    expect(await effects()).toMatchObject([{ ...closed, attempt_count: 1 }])
    expect(await deliveries('failed')).toBe((before[0] ?? 0) + 1)

    const patient = await Client.open(s.url, KEY)
    await s.settle()
    const [frame] = await patient.hears(1)
    patient.ack(frame.id)
    await until('it is heard', async () => {
      await s.settle()
      return (await effects())[0].status === 'completed'
    })
    const heard = { channel: 'websocket', attempt_count: 2, last_error: null }
    expect(await effects()).toMatchObject([heard])
    expect(await deliveries('acknowledged')).toBe((before[1] ?? 0) + 1)
  })

  it('events whose turn has not been are a metric', async () => {
    const s = at()
    for (const key of ['ann:bot:a', 'ann:bot:a', 'ann:bot:b'])
      await s.call('POST', `/v1/sessions/${key}/messages`, { text: 'hi' })
    const { text } = await s.call('GET', '/metrics')
    // A look is kept for some seconds: the first one of this test may be an older test's.
    expect(text).toMatch(/^wakeful_events_waiting \d+$/m)
    expect(await eventsWaiting(s.app.store.engine)).toBe(3)
    await s.settle()
    expect(await eventsWaiting(s.app.store.engine)).toBe(0)
  })
})
