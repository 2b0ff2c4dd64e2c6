/** What was promised always comes: reminders, intents and results pass the gate that follow-ups meet (invariant 11a). */
import { expect, it } from 'vitest'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

const COOLDOWN_MS = 15_000
const SECOND = 1000

eachStore('promises', (store) => {
  const at = house(store, {
    bot: (turn) => {
      const { wake_message, timer_id } = (turn.event.payload ?? {}) as Loose
      turn.say(wake_message ?? timer_id ?? turn.event.type)
    },
  })

  const alarm = async (thread: string, body: Record<string, unknown>) => {
    const common = { agent_id: 'bot', conversation_id: thread, wake_message: 'wake up' }
    const answer = await at().call('POST', '/v1/alarms', { ...common, kind: 'once', ...body })
    expect(answer.status, answer.text).toBe(201)
    return answer.body
  }
  const timer = (thread: string, id: string, delay_seconds: number) =>
    at().call('PUT', `/v1/sessions/local:bot:${thread}/timers/${id}`, { delay_seconds })
  const head = async (thread: string) =>
    (await at().call('GET', `/v1/sessions/local:bot:${thread}`)).body
  const turns = async (thread: string): Promise<Loose[]> =>
    (await at().call('GET', `/v1/sessions/local:bot:${thread}/turns`)).body.data
  const sent = async (thread: string): Promise<string[]> =>
    (await at().call('GET', `/v1/sessions/local:bot:${thread}/effects`)).body.data.map(
      ({ reason, payload }: Loose) => `${reason}: ${payload.content}`,
    )
  const PROMISED = { allowed: true, rule: 'promised' }

  it('invariant 11a: two reminders at one instant are two messages', async () => {
    await alarm('two', { delay_seconds: 6, wake_message: 'call mum' })
    await alarm('two', { delay_seconds: 6, wake_message: 'take the pill' })
    await at().wakeful.advanceBy(6 * SECOND)
    expect((await sent('two')).toSorted()).toEqual(['promise: call mum', 'promise: take the pill'])
    expect((await turns('two')).map(({ verdicts }) => verdicts)).toEqual([[PROMISED], [PROMISED]])
  })

  it('invariant 11a: a recurring reminder that nobody answers comes each time', async () => {
    const { id } = await alarm('every', { kind: 'cron', cron_expr: '@every 1s' })
    await at().wakeful.advanceBy(10 * SECOND)
    expect(await sent('every')).toEqual(Array(10).fill('promise: wake up'))
    await at().call('DELETE', `/v1/alarms/${id}`)
    const { data } = (await at().call('GET', `/v1/ledger?trigger_id=${id}&limit=200`)).body
    expect(data.filter(({ outcome }: Loose) => outcome === 'sent')).toHaveLength(10)
    expect(data.at(-1)).toMatchObject({
      words: expect.stringMatching(/^Sent at .* as promised, not yet received\.$/),
      effects: [{ reason: 'promise' }],
    })
  })

  it('invariants 7 and 11a: five follow-ups end after three, and a reminder still arrives', async () => {
    for (let n = 1; n <= 5; n++) await timer('closed', `nudge ${n}`, 20 * n)
    await at().wakeful.advanceBy(100 * SECOND)
    expect(await sent('closed')).toEqual([1, 2, 3].map((n) => `follow_up: nudge ${n}`))
    const closed = { allowed: false, reason: 'hard_cap_reached' }
    expect(await head('closed')).toMatchObject({ consecutive_autonomous_msgs: 3, gate: closed })
    await alarm('closed', { delay_seconds: 1 })
    await at().wakeful.advanceBy(SECOND)
    expect((await sent('closed')).at(-1)).toBe('promise: wake up')
    expect(await head('closed')).toMatchObject({
      consecutive_autonomous_msgs: 3,
      last_autonomous_at: at().wakeful.now().toISOString(),
      gate: closed,
    })
  })

  it('rule 11: four reminders leave the count at 0, and a follow-up keeps its distance from them', async () => {
    for (let n = 1; n <= 4; n++) await alarm('apart', { delay_seconds: n })
    await timer('apart', 'too soon', 18)
    await timer('apart', 'in time', 19)
    await at().wakeful.advanceBy(4 * SECOND)
    const until = new Date(at().wakeful.now().getTime() + COOLDOWN_MS).toISOString()
    expect(await head('apart')).toMatchObject({
      consecutive_autonomous_msgs: 0,
      last_autonomous_at: at().wakeful.now().toISOString(),
      gate: { allowed: false, reason: 'cooldown_active', until },
    })
    await at().wakeful.advanceBy(20 * SECOND)
    const reminders = Array(4).fill('promise: wake up')
    expect(await sent('apart')).toEqual([...reminders, 'follow_up: in time'])
    expect((await turns('apart')).map(({ verdicts }) => verdicts[0]).slice(-2)).toEqual([
      { allowed: false, rule: 'cooldown_active', count: 0, max: 3, until },
      { allowed: true, rule: 'within_limits', count: 1, max: 3 },
    ])
  })
})
