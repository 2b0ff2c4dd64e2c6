/** contract: the gate of a session is one verdict on a follow-up: limits, then what the person wants, then stops. */
import { expect, it } from 'vitest'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

eachStore('the verdict of the gate', (store) => {
  const at = house(store, {
    bot: (turn) => {
      if (turn.event.type === 'user_message')
        turn.schedule('nudge', { in: '30 seconds', cancelOnReply: true })
      else turn.say('still there?')
    },
  })
  const gate = async (user: string) => {
    const { gate } = (await at().call('GET', `/v1/sessions/${user}:bot:t`)).body
    const rows = (await at().call('GET', `/v1/sessions?user_id=${user}`)).body.data
    expect(rows.map((row: Loose) => row.gate)).toEqual([gate])
    return gate
  }
  const say = (user: string) =>
    at().call('POST', `/v1/sessions/${user}:bot:t/messages`, { text: 'hi' })
  const want = (user: string, body: object) => at().call('PUT', `/v1/people/${user}`, body)
  const iso = (ms: number) => new Date(at().wakeful.now().getTime() + ms).toISOString()

  it('names the preference that would hold a follow-up back, and until when', async () => {
    await say('ann')
    expect(await gate('ann')).toEqual({ allowed: true })
    await want('ann', { quiet_hours: [{ from: '00:00', to: '23:00' }] })
    const quiet = await gate('ann')
    expect(quiet).toMatchObject({ allowed: false, reason: 'quiet_hours' })
    expect(quiet.until).toMatch(/T23:00:00\.000Z$/)
    await want('ann', { quiet_hours: null, most_unasked_per_day: 0 })
    expect(await gate('ann')).toMatchObject({ allowed: false, reason: 'daily_limit' })
    await at().call('POST', '/v1/people/ann/pause', { for: '2 hours' })
    expect(await gate('ann')).toEqual({ allowed: false, reason: 'paused', until: iso(7_200_000) })
    await want('ann', { muted_agents: ['bot'] })
    expect(await gate('ann')).toEqual({ allowed: false, reason: 'muted' })
  })

  it('says stopped while a stop holds the agent, the person or everything', async () => {
    await say('bob')
    const stop = (await at().call('POST', '/v1/stops', { level: 'agent', target: 'bot' })).body
    await at().wakeful.settle()
    expect(await gate('bob')).toEqual({ allowed: false, reason: 'stopped' })
    await at().call('POST', `/v1/stops/${stop.id}/resume`)
    await at().wakeful.settle()
    expect(await gate('bob')).toEqual({ allowed: true })
  })

  it('a follow-up that was dropped is never said to come later', async () => {
    await say('cem')
    await at().wakeful.settle()
    await want('cem', { quiet_hours: [{ from: '00:00', to: '23:00' }] })
    await at().wakeful.advanceBy(30_000)
    const [entry] = (await at().call('GET', '/v1/ledger?user_id=cem')).body.data
    expect(entry).toMatchObject({ outcome: 'suppressed', reason: { rule: 'quiet_hours' } })
    expect(entry.words).toMatch(/^Held back at [\d:]+: quiet hours, until 23:00\.$/)
  })

  it('lists sessions by last activity, and finds them by a part of their key', async () => {
    for (const key of ['uma:bot:old', 'uma:bot:new', 'uma:bot:old']) {
      await at().call('POST', `/v1/sessions/${key}/messages`, { text: 'hi' })
      await at().wakeful.advanceBy(1_000)
    }
    const keys = async (query: string): Promise<string[]> =>
      (await at().call('GET', `/v1/sessions${query}`)).body.data.map(
        (row: Loose) => row.session_key,
      )
    expect(await keys('?user_id=uma')).toEqual(['uma:bot:new', 'uma:bot:old'])
    expect(await keys('?user_id=uma&order=activity')).toEqual(['uma:bot:old', 'uma:bot:new'])
    expect(await keys('?q=BOT:OLD')).toEqual(['uma:bot:old'])
    expect(await keys('?user_id=uma&agent_id=bot&q=new')).toEqual(['uma:bot:new'])
    expect(await keys('?agent_id=other')).toEqual([])
    const { data, next_cursor } = (
      await at().call('GET', '/v1/sessions?q=uma&order=activity&limit=1')
    ).body
    const next = await keys(`?q=uma&order=activity&limit=1&cursor=${next_cursor}`)
    expect([data[0].session_key, ...next]).toEqual(['uma:bot:old', 'uma:bot:new'])
    expect(data[0].last_activity_at >= data[0].created_at).toBe(true)
  })
})
