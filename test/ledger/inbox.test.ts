/** contract: what needs attention stays in the inbox until its retry got through or somebody dismissed it. */
import { expect, it } from 'vitest'
import { TerminalError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import { house } from '../sessions/house.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000

eachStore('the inbox', (store) => {
  let failing = true
  const at = house(store, {
    bot: (turn) => {
      const { type } = turn.event
      if (type === 'user_message') return turn.say('hello')
      if (failing) throw new TerminalError('no luck')
      turn.say('done')
    },
    asker: (turn) =>
      turn.ask('Send it?', { options: ['Yes', 'No'], default: 'No', until: 'in 2 hours' }),
  })
  const as = (user: string) => ({ 'wakeful-act-as': user })
  const inbox = async (query = '?user_id=ann'): Promise<Loose> => {
    const reply = await at().call('GET', `/v1/inbox${query}`)
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const failures = async (user: string): Promise<Loose[]> =>
    (await inbox(`?user_id=${user}`)).failures
  const post = (path: string, body?: object, headers?: Record<string, string>) =>
    at().call('POST', path, body, headers)
  const alarm = (user: string, body: object) =>
    post('/v1/alarms', { wake_message: 'up', agent_id: 'bot', max_failures: 1, ...body }, as(user))

  it('keeps a failure, with a permalink, until its retry got through', async () => {
    failing = true
    await alarm('ann', { kind: 'once', delay_seconds: 60 })
    await at().wakeful.advanceBy(MINUTE)
    const [entry, ...others] = await failures('ann')
    expect(others).toEqual([])
    expect(entry).toMatchObject({ outcome: 'failed', retryable: true, trigger: { kind: 'alarm' } })
    await at().wakeful.advanceBy(7 * 86_400_000)
    expect((await inbox()).counts).toMatchObject({ failures: 1 })
    const { retryable: _, ...plain } = entry
    const shown = (await at().call('GET', `/v1/ledger/${entry.id}`)).body
    expect({ ...shown, words: plain.words }).toEqual(plain)

    const again = await post(`/v1/ledger/${entry.id}/retry`)
    expect(again.status, again.text).toBe(200)
    await at().wakeful.settle()
    expect(await failures('ann')).toHaveLength(2)
    failing = false
    await post(`/v1/ledger/${entry.id}/retry`)
    await at().wakeful.settle()
    expect(await failures('ann')).toEqual([])
  })

  it('keeps a dismissed failure in the ledger and says who dismissed it', async () => {
    failing = true
    await alarm('bea', { kind: 'cron', cron_expr: '@every 1h' })
    await at().wakeful.advanceBy(60 * MINUTE)
    const [entry] = await failures('bea')
    failing = false
    // Its next time is no retry of this one.
    await at().wakeful.advanceBy(60 * MINUTE)
    expect(await failures('bea')).toHaveLength(1)
    const dismissed = await post(`/v1/ledger/${entry.id}/dismiss`)
    const mark = { at: at().wakeful.now().toISOString(), by: 'admin' }
    expect(dismissed.body).toMatchObject({ id: entry.id, outcome: 'failed', dismissed: mark })
    await at().wakeful.advanceBy(MINUTE)
    const twice = await post(`/v1/ledger/${entry.id}/dismiss`, undefined, as('bea'))
    expect(twice.body.dismissed).toEqual(mark)
    expect(await failures('bea')).toEqual([])
    const ledger = (await at().call('GET', '/v1/ledger?user_id=bea&outcome=failed')).body.data
    expect(ledger).toMatchObject([{ id: entry.id, dismissed: mark }])
    const [well] = (await at().call('GET', '/v1/ledger?user_id=bea&outcome=sent')).body.data
    expect((await post(`/v1/ledger/${well.id}/dismiss`)).status).toBe(409)
    expect((await post(`/v1/ledger/${entry.id}/dismiss`, undefined, as('cem'))).status).toBe(404)
    expect((await at().call('GET', `/v1/ledger/${newId()}`)).status).toBe(404)
  })

  it('sets a timer that failed again with its payload, and refuses what is gone or waits already', async () => {
    failing = true
    await at().call('PUT', '/v1/sessions/dan:bot:t/timers/nudge', {
      delay_seconds: 60,
      payload: { n: 1 },
    })
    await at().wakeful.advanceBy(MINUTE)
    const [entry] = await failures('dan')
    expect(entry).toMatchObject({ retryable: true, trigger: { kind: 'timer', name: 'nudge' } })
    failing = false
    expect((await post(`/v1/ledger/${entry.id}/retry`)).status).toBe(200)
    await at().wakeful.settle()
    expect(await failures('dan')).toEqual([])
    const events = (await at().call('GET', '/v1/sessions/dan:bot:t/events')).body.data
    expect(events.map(({ payload }: Loose) => payload)).toEqual([
      { timer_id: 'nudge', payload: { n: 1 } },
      { timer_id: 'nudge', payload: { n: 1 } },
    ])
    await at().call('PUT', '/v1/sessions/dan:bot:t/timers/nudge', { delay_seconds: 60 })
    const waiting = await post(`/v1/ledger/${entry.id}/retry`)
    expect([waiting.status, waiting.body.errors]).toEqual([
      409,
      ['this cannot be retried: a timer nudge waits already'],
    ])
    failing = true
    const { body } = await alarm('dan', { kind: 'once', delay_seconds: 1 })
    await at().wakeful.advanceBy(MINUTE)
    const gone = (await failures('dan')).find(({ trigger }: Loose) => trigger.id === body.id)
    await at().call('DELETE', `/v1/schedules/alarm:${body.id}?user_id=dan`)
    const left = (await failures('dan')).find(({ id }: Loose) => id === gone?.id)
    expect(left).toMatchObject({ retryable: false })
    expect((await post(`/v1/ledger/${gone?.id}/retry`)).status).toBe(409)
  })

  it('lists open questions, messages that wait for more than five minutes, and stops', async () => {
    await post('/v1/sessions/eve:asker:t/messages', { text: 'order' })
    await at().wakeful.settle()
    await at().wakeful.advanceBy(4 * MINUTE)
    expect((await inbox('?user_id=eve')).undelivered).toEqual([])
    await at().wakeful.advanceBy(2 * MINUTE)
    const stop = (await post('/v1/stops', { level: 'user', target: 'eve', reason: 'away' })).body
    const { questions, undelivered, stops, counts } = await inbox('?user_id=eve')
    expect(questions).toMatchObject([{ text: 'Send it?', status: 'open' }])
    expect(undelivered).toMatchObject([
      { session_key: 'eve:asker:t', preview: expect.stringContaining('Send it?') },
    ])
    expect(undelivered[0].reason).toBe('nobody has connected to receive it')
    expect(stops).toMatchObject([{ id: stop.id, reason: 'away' }])
    expect(counts).toEqual({ failures: 0, questions: 1, undelivered: 1, stops: 1 })
    const all = await inbox('?limit=1')
    expect(all.stops).toMatchObject([{ id: stop.id }])
    expect((await inbox('?user_id=ann')).stops).toEqual([])
    await post(`/v1/stops/${stop.id}/resume`)
  })
})
