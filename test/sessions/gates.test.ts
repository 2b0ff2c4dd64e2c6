/** The gates as a user of the API sees them: three unanswered follow-ups, then silence, and why (rules 8 and 11). */
import { expect, it } from 'vitest'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { house } from './house.ts'

const COOLDOWN_MS = 15_000

eachStore('the gates', (store) => {
  const at = house(store, {
    // Nudges every 20 s, for ever, unless the user speaks.
    nag: (turn) => {
      turn.say(turn.event.type === 'timer' ? 'still there?' : 'hello')
      turn.schedule('nudge', { in: 20, cancelOnReply: true })
    },
    // Says two things on each wake-up.
    twice: (turn) => {
      if (turn.event.type === 'user_message') {
        turn.schedule('wake', { in: 60, cancelOnReply: true })
        return
      }
      turn.say('one')
      turn.say('two')
    },
    eager: (turn) => turn.say(`result ${turn.event.seq}`),
  })

  const say = (key: string, text = 'hi') =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text })
  const head = async (key: string) => (await at().call('GET', `/v1/sessions/${key}`)).body
  const turns = async (key: string): Promise<Loose[]> =>
    (await at().call('GET', `/v1/sessions/${key}/turns`)).body.data
  const sent = async (key: string): Promise<string[]> =>
    (await at().call('GET', `/v1/sessions/${key}/effects`)).body.data
      .filter((effect: Loose) => effect.type === 'send_message')
      .map((effect: Loose) => effect.payload.content)
  const iso = (ms: number) => new Date(at().wakeful.now().getTime() + ms).toISOString()

  it('rule 11: three unanswered follow-ups, then silence; the session, its turns and checkpoints say why', async () => {
    const key = 'ann:nag:cap'
    await say(key)
    await at().wakeful.settle()
    expect(await head(key)).toMatchObject({
      consecutive_autonomous_msgs: 0,
      last_autonomous_at: null,
      gate: { allowed: true },
      timers: [{ timer_id: 'nudge', fire_at: iso(20_000), status: 'pending' }],
    })
    await at().wakeful.advanceBy(100_000)
    expect(await sent(key)).toEqual(['hello', 'still there?', 'still there?', 'still there?'])
    const after = await head(key)
    expect(after.gate).toEqual({ allowed: false, reason: 'hard_cap_reached' })
    expect(after.consecutive_autonomous_msgs).toBe(3)
    const verdicts = (await turns(key)).map((turn) => turn.verdicts)
    const ok = (count: number) => [{ allowed: true, rule: 'within_limits', count, max: 3 }]
    const no = [{ allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 }]
    expect(verdicts).toEqual([[], ok(1), ok(2), ok(3), no, no])
    const points = await at().query(
      'select metadata from wakeful.checkpoints where thread_id = $1 order by checkpoint_id',
      [key],
    )
    const counts = points.map((p) => JSON.parse(p.metadata).consecutive_autonomous_msgs)
    expect(counts).toEqual([0, 1, 2, 3, 3, 3])
    const last = JSON.parse(points.at(-1).metadata)
    expect(last).toEqual({
      metadata_version: 1,
      event_seq: 6,
      consecutive_autonomous_msgs: 3,
      last_autonomous_at: after.last_autonomous_at,
    })
  })

  it('rule 8: a user message resets the counters, and the agent may speak unasked again', async () => {
    const key = 'ann:nag:reset'
    await say(key)
    await at().wakeful.advanceBy(100_000)
    expect((await head(key)).gate.reason).toBe('hard_cap_reached')
    await say(key, 'I am here')
    await at().wakeful.settle()
    expect(await head(key)).toMatchObject({
      consecutive_autonomous_msgs: 0,
      last_autonomous_at: null,
      gate: { allowed: true },
    })
    await at().wakeful.advanceBy(20_000)
    expect((await sent(key)).slice(-2)).toEqual(['hello', 'still there?'])
    expect((await head(key)).consecutive_autonomous_msgs).toBe(1)
  })

  it('rule 11: a second message in one turn meets the cooldown, is not sent later, and the gate says until when', async () => {
    const key = 'ann:twice:cool'
    await say(key)
    await at().wakeful.advanceBy(60_000)
    const until = iso(COOLDOWN_MS)
    expect(await head(key)).toMatchObject({
      consecutive_autonomous_msgs: 1,
      last_autonomous_at: iso(0),
      gate: { allowed: false, reason: 'cooldown_active', until },
    })
    expect((await turns(key)).at(-1).verdicts).toEqual([
      { allowed: true, rule: 'within_limits', count: 1, max: 3 },
      { allowed: false, rule: 'cooldown_active', count: 1, max: 3, until },
    ])
    await at().wakeful.advanceBy(COOLDOWN_MS - 1)
    expect((await head(key)).gate.allowed).toBe(false)
    await at().wakeful.advanceBy(1)
    expect((await head(key)).gate).toEqual({ allowed: true })
    expect(await sent(key)).toEqual(['one'])
  })

  it('rule 11: exactly 15 000 ms apart is allowed, one less is not', async () => {
    const key = 'ann:eager:edge'
    const result = async () => {
      await at().call('POST', `/v1/sessions/${key}/tool-results`, { tool_id: 'x', payload: null })
      await at().wakeful.settle()
    }
    await result()
    await at().wakeful.advanceBy(14_999)
    await result()
    await at().wakeful.advanceBy(1)
    await result()
    expect(await sent(key)).toEqual(['result 1', 'result 3'])
    const rules = (await turns(key)).map((turn) => turn.verdicts[0].rule)
    expect(rules).toEqual(['within_limits', 'cooldown_active', 'within_limits'])
  })

  it('invariant 7: of any burst, one message passes, and over time never more than three', async () => {
    const key = 'ann:eager:burst'
    const results = (n: number) =>
      Promise.all(
        Array.from({ length: n }, () =>
          at().call('POST', `/v1/sessions/${key}/tool-results`, { tool_id: 'x', payload: 1 }),
        ),
      )
    for (let round = 0; round < 5; round++) {
      await results(10)
      await at().wakeful.advanceBy(COOLDOWN_MS)
    }
    expect(await sent(key)).toHaveLength(3)
    const times = await at().query(
      'select created_at from wakeful.effects where session_key = $1 order by position',
      [key],
    )
    for (let n = 1; n < times.length; n++)
      expect(times[n].created_at - times[n - 1].created_at).toBeGreaterThanOrEqual(COOLDOWN_MS)
    expect(await turns(key)).toHaveLength(50)
  })
})
