/** Invariant 10: cancelled means cancelled. Whatever a fire is doing, what the API answered stays true. */
import { expect, it } from 'vitest'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { jitter, until } from '../setup/until.ts'

const MINUTE = 60_000
const EVENTS = 'select 1 from wakeful.events'

eachStore('cancelling alarms', (store) => {
  /** What the agent does with an event, as each test wants it. */
  let act: (turn: Row) => unknown = () => undefined
  let moment: (name: string, key: string) => void | Promise<void> = () => undefined
  const shared = sharedStage(store, {
    agents: { bot: (turn) => act(turn), other: () => undefined },
    at: (name, key) => moment(name, key),
  })
  const fresh = (): Stage => {
    act = () => undefined
    moment = () => undefined
    return shared()
  }
  const bot = { agent_id: 'bot' }

  it.each(['claimed', 'delivered', 'committed'])(
    'invariant 10: a cancel at the moment %s of a fire stays as it was answered',
    async (at) => {
      const s = fresh()
      const once = await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'once' })
      const cron = await s.set({
        ...bot,
        kind: 'cron',
        cron_expr: '@every 1m',
        conversation_id: 'cron',
      })
      const answers = new Map<string, string>()
      moment = async (name, key) => {
        const alarm = key.endsWith('once') ? once : cron
        if (name !== at || answers.has(alarm.id)) return
        const { body } = await s.call('DELETE', `/v1/alarms/${alarm.id}`)
        answers.set(alarm.id, body.status)
      }
      await s.advanceBy(10 * MINUTE)
      expect(answers.size).toBe(2)
      for (const [id, status] of answers) expect((await s.get(id)).status).toBe(status)
      expect(answers.get(cron.id)).toBe('cancelled')
      expect(answers.get(once.id)).toBe(at === 'committed' ? 'fired' : 'cancelled')
      expect(await s.query(EVENTS)).toHaveLength(2)
    },
  )

  it('a storm of cancels over a burst: every alarm ends as its cancel answered', async () => {
    const s = fresh()
    const alarms = await Promise.all(
      Array.from({ length: 150 }, (_, n) =>
        n % 3 === 0
          ? s.set({ ...bot, kind: 'cron', cron_expr: '@every 1m', conversation_id: `c${n % 20}` })
          : s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: `c${n % 20}` }),
      ),
    )
    act = () => jitter(20)
    s.sleep(MINUTE)
    const work = s.settle()
    const answers = await Promise.all(
      alarms.map(async ({ id }) => {
        await jitter(300)
        // On a busy machine a call may be turned away: it has answered nothing, and is made again.
        const { body } = await until('an answer', async () => {
          const answer = await s.call('DELETE', `/v1/alarms/${id}`)
          return answer.status === 503 ? null : answer
        })
        return [id, body.status] as const
      }),
    )
    await work
    await s.advanceBy(10 * MINUTE)
    const rows = await s.query<Row>('select id, status, due_at, in_flight from wakeful.alarms')
    const status = new Map(rows.map((row) => [row.id, row.status]))
    for (const [id, answered] of answers) expect(status.get(id)).toBe(answered)
    expect(rows.every((row) => row.due_at === null && row.in_flight === null)).toBe(true)
    const again = await s.query(
      `select trigger_id from wakeful.events where type = 'alarm' group by trigger_id having count(*) > 1`,
    )
    expect(again).toEqual([])
  })

  it('invariant 10: cancelled while its event waits behind a long turn, the agent is not woken', async () => {
    const s = fresh()
    const woken: string[] = []
    act = async (turn) => {
      woken.push(turn.event.type)
      if (turn.event.type !== 'user_message') return
      // Due while this turn runs: promoted behind it, then cancelled.
      s.sleep(MINUTE)
      const { alarmTrigger } = await import('../../src/features/alarms/trigger.ts')
      expect((await alarmTrigger.promote(s.app.store.db)).promoted).toBe(1)
      expect((await s.call('DELETE', `/v1/alarms/${alarm.id}`)).body.status).toBe('cancelled')
    }
    const alarm = await s.set({ ...bot, kind: 'once', delay_seconds: 60, conversation_id: 'c' })
    await s.call('POST', '/v1/sessions/local:bot:c/messages', { text: 'hi' })
    await s.advanceBy(10 * MINUTE)
    expect(woken).toEqual(['user_message'])
    expect((await s.get(alarm.id)).status).toBe('cancelled')
    const [turn] = await s.query<Row>('select status, error from wakeful.turns where event_seq = 2')
    expect(turn).toEqual({
      status: 'failed',
      error: 'not run: the alarm was cancelled before its turn began',
    })
    const [head] = await s.query<Row>('select done_seq, last_seq from wakeful.sessions')
    expect(head).toEqual({ done_seq: 2, last_seq: 2 })
  })
})
