/** Preferences: what is held back waits for its moment or is dropped, as the table says; nothing promised is lost (invariant 11a). */
import { expect, it } from 'vitest'
import { house } from '../sessions/house.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

eachStore('preferences', (store) => {
  let runs = 0
  const bot = (turn: Parameters<Parameters<typeof house>[1][string]>[0]) => {
    runs++
    const payload = (turn.event.payload ?? {}) as Loose
    if (turn.event.type === 'digest') {
      turn.say(`digest: ${payload.items.map(({ name }: Loose) => name).join(', ')}`)
      return
    }
    const deferred = payload.deferred === undefined ? '' : ` (deferred: ${payload.deferred.rule})`
    turn.say(
      `${payload.wake_message ?? payload.intent_name ?? payload.timer_id ?? payload.text}${deferred}`,
    )
  }
  const at = house(store, { bot, other: bot })

  const ok = async (method: string, path: string, body?: unknown): Promise<Loose> => {
    const answer = await at().call(method, path, body)
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const preferences = (user: string, body: object) => ok('PUT', `/v1/people/${user}`, body)
  const asUser = async (user: string, method: string, path: string, body?: unknown) => {
    const answer = await at().call<Loose>(method, path, body, { 'wakeful-act-as': user })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const alarm = (
    user: string,
    thread: string,
    delay_seconds: number,
    wake_message: string,
    more: object = {},
  ) =>
    asUser(user, 'POST', '/v1/alarms', {
      ...{ kind: 'once', delay_seconds, wake_message, agent_id: 'bot', conversation_id: thread },
      ...more,
    })
  const news = (user: string, name: string, more: object = {}) =>
    ok('POST', '/v1/intents', {
      ...{
        user_id: user,
        intent_name: name,
        trigger_type: 'news',
        agent_id: 'bot',
        thread_id: 't',
      },
      ...{
        trigger_condition: { keywords: ['moon'] },
        action_context: 'tell me',
        max_executions: 1,
      },
      ...more,
    })
  const sent = async (user: string, thread = 't', agent = 'bot'): Promise<string[]> => {
    const answer = await at().call<Loose>('GET', `/v1/sessions/${user}:${agent}:${thread}/effects`)
    return (answer.body.data ?? []).map(({ payload }: Loose) => payload.content)
  }
  const deferred = async (user: string, status = 'waiting'): Promise<Loose[]> =>
    (await ok('GET', `/v1/people/${user}/deferred?status=${status}`)).data
  const ledger = async (user: string): Promise<Loose[]> =>
    (await ok('GET', `/v1/ledger?user_id=${user}&limit=100`)).data
  /** Quiet from a minute before now on, for two hours. */
  const quietNow = () => {
    const clock = (ms: number) =>
      new Date(at().wakeful.now().getTime() + ms).toISOString().slice(11, 16)
    return [{ from: clock(-MINUTE), to: clock(2 * HOUR) }]
  }

  it('a promise at a stated time passes quiet hours, a headline waits for their end, and no agent is woken for it', async () => {
    await preferences('ann', { timezone: 'UTC', quiet_hours: quietNow() })
    await alarm('ann', 't', 10, 'pill')
    await news('ann', 'moon news')
    await ok('POST', '/v1/signals', { kind: 'news', headline: 'The moon is up', user_id: 'ann' })
    const before = runs
    await at().wakeful.advanceBy(MINUTE)
    expect(await sent('ann')).toEqual(['pill'])
    expect(runs - before).toBe(1)
    expect(await deferred('ann')).toMatchObject([
      { kind: 'intent', rule: 'quiet_hours', name: 'moon news' },
    ])
    expect((await ledger('ann')).map(({ outcome }) => outcome).sort()).toEqual(['deferred', 'sent'])
    await at().wakeful.advanceBy(2 * HOUR)
    expect(await sent('ann')).toEqual(['pill', 'moon news (deferred: quiet_hours)'])
    expect(await deferred('ann')).toEqual([])
    const [entry] = (await ledger('ann')).filter(({ trigger }) => trigger.kind === 'intent')
    expect(entry).toMatchObject({
      outcome: 'sent',
      words: expect.stringMatching(
        /as promised, deferred before \(quiet hours\), not yet received/,
      ),
    })
  })

  it('what waits for one session comes as one digest; each slot says so', async () => {
    await preferences('bea', { timezone: 'UTC', quiet_hours: quietNow() })
    await news('bea', 'moon news', { max_executions: 3 })
    for (const headline of ['moon one', 'moon two', 'moon three']) {
      await ok('POST', '/v1/signals', { kind: 'news', headline, user_id: 'bea' })
      await at().wakeful.advanceBy(MINUTE)
    }
    expect(await deferred('bea')).toHaveLength(3)
    await at().wakeful.advanceBy(2 * HOUR)
    expect(await sent('bea')).toEqual(['digest: moon news, moon news, moon news'])
    const entries = await ledger('bea')
    expect(entries).toHaveLength(3)
    for (const { outcome, words } of entries) {
      expect(outcome).toBe('sent')
      expect(words).toMatch(/together with 2 others/)
    }
  })

  it('an answer is always sent; a follow-up in quiet hours is dropped, recorded, and wakes nobody', async () => {
    await preferences('cal', { timezone: 'UTC', quiet_hours: quietNow() })
    await ok('POST', '/v1/sessions/cal:bot:t/messages', { text: 'hello' })
    await at().wakeful.settle()
    await ok('PUT', '/v1/sessions/cal:bot:t/timers/nudge', { delay_seconds: 30 })
    const before = runs
    await at().wakeful.advanceBy(MINUTE)
    expect(runs).toBe(before)
    expect(await sent('cal')).toEqual(['hello'])
    expect((await ledger('cal'))[0]).toMatchObject({
      outcome: 'suppressed',
      reason: { rule: 'quiet_hours' },
    })
  })

  it('beyond the most a day a promise waits for the next day; the next day counts anew', async () => {
    await preferences('dan', { timezone: 'UTC', most_unasked_per_day: 2 })
    for (const [n, name] of ['one', 'two', 'three', 'four'].entries())
      await alarm('dan', 't', 10 + n, name)
    await at().wakeful.advanceBy(MINUTE)
    expect(await sent('dan')).toEqual(['one', 'two'])
    expect(await ok('GET', '/v1/people/dan')).toMatchObject({ unasked_today: 2, deferred: 2 })
    expect((await deferred('dan')).map(({ rule }) => rule)).toEqual(['day_limit', 'day_limit'])
    await at().wakeful.advanceBy(24 * HOUR)
    expect((await sent('dan')).slice(2)).toEqual(['digest: three, four'])
    expect(await ok('GET', '/v1/people/dan')).toMatchObject({ deferred: 0 })
  })

  it('what is released together counts together: beyond the most a day no agent is woken', async () => {
    await preferences('gus', { timezone: 'UTC', most_unasked_per_day: 1 })
    await ok('POST', '/v1/people/gus/pause', { for: '1 hour' })
    for (const thread of ['t', 'u', 'v']) await alarm('gus', thread, 10, thread)
    await at().wakeful.advanceBy(MINUTE)
    expect(await deferred('gus')).toHaveLength(3)
    const before = runs
    await ok('DELETE', '/v1/people/gus/pause')
    await at().wakeful.settle()
    expect(runs - before).toBe(1)
    expect((await deferred('gus')).map(({ rule }) => rule)).toEqual(['day_limit', 'day_limit'])
  })

  it('a pause holds back promises until its end; ending it sooner releases them, and says so', async () => {
    await ok('POST', '/v1/people/eve/pause', { for: '3 hours' })
    await alarm('eve', 't', 10, 'walk')
    await at().wakeful.advanceBy(MINUTE)
    expect(await sent('eve')).toEqual([])
    const { notes } = await ok('DELETE', '/v1/people/eve/pause')
    expect(notes[0]).toMatch(/^1 deferred, now released at/)
    await at().wakeful.settle()
    expect(await sent('eve')).toEqual(['walk (deferred: paused)'])
  })

  it('a muted agent only answers; other agents speak', async () => {
    await preferences('fay', { muted_agents: ['bot'] })
    await alarm('fay', 't', 10, 'pill')
    await alarm('fay', 't', 10, 'water', { agent_id: 'other' })
    await at().wakeful.advanceBy(MINUTE)
    expect(await sent('fay')).toEqual([])
    expect(await sent('fay', 't', 'other')).toEqual(['water'])
    const outcomes = (await ledger('fay')).map(
      ({ outcome, reason }) => `${outcome} ${reason?.rule ?? ''}`,
    )
    expect(outcomes.sort()).toEqual(['sent ', 'suppressed agent_muted'])
  })

  it('what is critical passes quiet hours, the day and a pause', async () => {
    await preferences('gil', { timezone: 'UTC', quiet_hours: quietNow(), most_unasked_per_day: 0 })
    await ok('POST', '/v1/people/gil/pause', { for: '3 hours' })
    await news('gil', 'fire', { action_priority: 'critical' })
    await ok('POST', '/v1/signals', { kind: 'news', headline: 'moon fire', user_id: 'gil' })
    await at().wakeful.settle()
    expect(await sent('gil')).toEqual(['fire'])
  })

  it('invariant 10: who cancels the alarm takes back what is deferred', async () => {
    await ok('POST', '/v1/people/hal/pause', { for: '1 hour' })
    const { id } = await alarm('hal', 't', 10, 'walk')
    await at().wakeful.advanceBy(MINUTE)
    expect(await deferred('hal')).toHaveLength(1)
    expect(await asUser('hal', 'GET', `/v1/alarms/${id}`)).toMatchObject({ status: 'active' })
    expect(await asUser('hal', 'DELETE', `/v1/alarms/${id}`)).toMatchObject({ status: 'cancelled' })
    await at().wakeful.advanceBy(2 * HOUR)
    expect(await sent('hal')).toEqual([])
    expect(await deferred('hal', 'any')).toMatchObject([{ status: 'cancelled' }])
    expect((await ledger('hal'))[0]).toMatchObject({ outcome: 'cancelled' })
  })

  it('a condition is looked at again: where it no longer holds the slot expires, and is watched on', async () => {
    await preferences('ida', { timezone: 'UTC', quiet_hours: quietNow() })
    const price = (price: number) =>
      ok('POST', '/v1/signals', { kind: 'price', ticker: 'ida.x', price, user_id: 'ida' })
    await ok('POST', '/v1/intents', {
      ...{
        user_id: 'ida',
        intent_name: 'cheap',
        trigger_type: 'price',
        agent_id: 'bot',
        thread_id: 't',
      },
      ...{
        trigger_condition: { ticker: 'ida.x', operator: '<', value: 10 },
        action_context: 'tell me',
        max_executions: 1,
      },
    })
    await price(9)
    await at().wakeful.advanceBy(MINUTE)
    expect(await deferred('ida')).toHaveLength(1)
    await at().wakeful.advanceBy(HOUR + 50 * MINUTE)
    await price(11)
    await at().wakeful.advanceBy(HOUR)
    expect(await sent('ida')).toEqual([])
    expect(await deferred('ida', 'any')).toMatchObject([{ status: 'expired' }])
    expect((await ledger('ida')).map(({ outcome }) => outcome)).toContain('expired')
    await price(8)
    await at().wakeful.settle()
    expect(await sent('ida')).toEqual(['cheap'])
  })

  it('what the person asks for comes now, whatever the hour', async () => {
    await preferences('joy', { timezone: 'UTC', quiet_hours: quietNow() })
    await news('joy', 'moon news')
    await ok('POST', '/v1/signals', { kind: 'news', headline: 'moon', user_id: 'joy' })
    await at().wakeful.settle()
    expect(await ok('POST', '/v1/people/joy/deferred/release', {})).toMatchObject({ released: 1 })
    await at().wakeful.settle()
    expect(await sent('joy')).toEqual(['moon news (deferred: quiet_hours)'])
  })

  it('a turn that says more than the day has room for says the rest with its last message', async () => {
    await preferences('kim', { most_unasked_per_day: 1 })
    await alarm('kim', 't', 1, 'one')
    await at().wakeful.advanceBy(MINUTE)
    await preferences('kim', { most_unasked_per_day: 2 })
    await alarm('kim', 't', 1, 'two')
    await at().wakeful.advanceBy(MINUTE)
    expect(await sent('kim')).toEqual(['one', 'two'])
  })

  it('refuses what cannot be meant, with what to write', async () => {
    const refused = async (method: string, path: string, body: object) => {
      const { status, body: problem } = await at().call<Loose>(method, path, body)
      return [status, ...problem.errors].join(' ')
    }
    const put = (body: object) => refused('PUT', '/v1/people/lee', body)
    expect(await put({ quiet_hours: [{ from: '00:00', to: '24:00' }] })).toMatch(
      /^400 quiet_hours: they never end/,
    )
    expect(await put({ quiet_hours: [{ from: '25:00', to: '07:00' }] })).toMatch(
      /^422 body.quiet_hours\[0\].from/,
    )
    expect(await put({ timezone: 'Mars/Base' })).toMatch(
      /^400 timezone: "Mars\/Base" is not an IANA time zone/,
    )
    expect(await put({ paused_until: '2020-01-01T00:00:00Z' })).toMatch(
      /^400 paused_until: .* is not in the future/,
    )
    expect(await put({ most_unasked_per_day: -1 })).toMatch(/^422 body.most_unasked_per_day/)
    expect(await refused('POST', '/v1/people/lee/pause', { until: 'yesterday' })).toMatch(
      /^400 until: /,
    )
    expect(await refused('POST', '/v1/people/lee/pause', {})).toMatch(
      /^422 .*exactly one of until and for/,
    )
    expect(await ok('GET', '/v1/people/lee')).toMatchObject({
      quiet_hours: [],
      timezone_known: false,
    })
  })
})
