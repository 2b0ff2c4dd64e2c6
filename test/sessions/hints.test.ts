/**
 * With polls of a minute, whatever happens soon was hinted at. A hint that is given before its
 * transaction commits, or not at all, shows here as a deadline missed.
 */
import { expect, it } from 'vitest'
import { eachStore } from '../setup/stores.ts'
import { Client, live } from './live.ts'

eachStore('hints', (store) => {
  const at = live(
    store,
    { bot: (turn) => turn.say(turn.event.type) },
    { TIMER_POLL_INTERVAL_MS: '60000', EFFECT_POLL_INTERVAL_MS: '60000' },
  )
  const open = (key: string) => Client.open(at().url, key, '?events=1')
  const post = (key: string, rest: string, body: unknown, headers = {}) =>
    at().call('POST', `/v1/sessions/${key}/${rest}`, body, headers)

  it('architecture, Time: a message is answered without a poll', async () => {
    const client = await open('ann:bot:plain')
    await post('ann:bot:plain', 'messages', { text: 'hi' })
    expect((await client.hears(1))[0].content).toBe('user_message')
    await client.until('its event', () => client.of('event').length === 1)
  })

  it('architecture, Time: a message with an Idempotency-Key is answered as soon, after its commit', async () => {
    const client = await open('ann:bot:keyed')
    const key = { 'idempotency-key': `hint-${store.name}` }
    for (let n = 0; n < 2; n++) await post('ann:bot:keyed', 'messages', { text: 'hi' }, key)
    expect((await client.hears(1))[0].content).toBe('user_message')
    await client.until('its event', () => client.of('event').length === 1)
    await client.roundTrip()
    expect(client.heard).toHaveLength(1)
  })

  it('architecture, Time: so is a tool result', async () => {
    const client = await open('ann:bot:tool')
    const key = { 'idempotency-key': `tool-${store.name}` }
    await post('ann:bot:tool', 'tool-results', { tool_id: 'x', payload: 1 }, key)
    expect((await client.hears(1))[0].content).toBe('tool_result')
  })

  it('architecture, Time: a timer put from outside fires on time', async () => {
    const client = await open('ann:bot:timer')
    await at().call('PUT', '/v1/sessions/ann:bot:timer/timers/x', { delay_seconds: 0.05 })
    expect((await client.hears(1))[0].content).toBe('timer')
  })

  it('rule 13: whoever connects gets what waits at once', async () => {
    await post('ann:bot:late', 'messages', { text: 'hi' })
    const client = await open('ann:bot:late')
    expect((await client.hears(1))[0].content).toBe('user_message')
  })
})
