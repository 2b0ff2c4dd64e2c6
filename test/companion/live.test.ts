/** The companion's sentences: which row exists afterwards, and the words of the answer. */
import { beforeEach, expect, it } from 'vitest'
import { companion } from '../../packages/companion/src/companion.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { talk } from './talk.ts'

const SECOND = 1000

type Row = Record<string, unknown>

eachStore('the companion', (store) => {
  const stage = sharedStage(store, { agents: { companion } })
  let w: ReturnType<typeof stage>
  beforeEach(async () => {
    w = stage()
    for (const table of ['scheduled_intents', 'intent_executions', 'signals', 'autonomy_timers'])
      await w.query(`delete from wakeful.${table}`)
  })

  const { say, replies } = talk(() => w)

  const alarms = () => w.query<Row>('select * from wakeful.alarms order by id')
  const intents = () => w.query<Row>('select * from wakeful.scheduled_intents order by id')
  const work = () => w.query<Row>('select * from wakeful.work order by id')
  const pending = () =>
    w.query<Row>(`select timer_id from wakeful.autonomy_timers where status = 'pending'`)

  it('sets reminders, in the zone that was named', async () => {
    expect(await say('remind me in 10 seconds to stretch')).toBe(
      'I will remind you in 10 s (2026-01-01 00:00:10 UTC): “stretch”. Say “what is planned?” to see it, “stop” to cancel it.',
    )
    expect(await say('my time zone is Europe/Berlin')).toContain('I read times in Europe/Berlin')
    expect(await say('every weekday at 8:30 plan the day')).toContain(
      'every weekday at 08:30 (Europe/Berlin), next on 2026-01-01 08:30 Europe/Berlin: “plan the day”',
    )
    expect(await say('remind me tomorrow at 9 to call Ann')).toContain(
      'no am or pm given: 9 is read as 09:00',
    )
    expect(await alarms()).toMatchObject([
      { kind: 'once', wake_message: 'stretch', timezone: 'UTC', conversation_id: 't' },
      { kind: 'cron', cron_expr: '30 8 * * 1-5', timezone: 'Europe/Berlin', label: 'plan the day' },
      { kind: 'once', fire_at: new Date('2026-01-02T08:00:00Z'), wake_message: 'call Ann' },
    ])
    // While something is planned, check-ins do not use up what the gate lets through.
    expect(await pending()).toEqual([])
    await w.advanceBy(10 * SECOND)
    expect((await replies()).at(-1)).toBe('Reminder: stretch')
  })

  it('keeps standing wishes and tells when they come true', async () => {
    expect(await say('tell me when NVDA is below 130')).toContain(
      'the first time NVDA is below 130',
    )
    expect(await say('tell me when the news mentions fusion')).toContain(
      'a headline mentions “fusion”',
    )
    expect(await say('check in if I am silent for one hour')).toContain(
      'not heard from you for one hour',
    )
    expect(await intents()).toMatchObject([
      { trigger_type: 'price', max_executions: 1, agent_id: 'companion', thread_id: 't' },
      { trigger_type: 'news', trigger_condition: '{"keywords":["fusion"]}' },
      {
        trigger_type: 'silence',
        trigger_condition: '{"threshold_hours":1}',
        action_type: 'check_in',
      },
    ])
    await w.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 140 })
    await w.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 125 })
    await w.advanceBy(SECOND)
    expect((await replies()).at(-1)).toBe('NVDA is at 125, below the 130 you named.')
    expect(await say('why did you write?')).toMatch(
      /intent “NVDA is below 130”: written, as promised/,
    )
    await w.advanceBy(3600 * SECOND)
    expect((await replies()).at(-1)).toBe('I have not heard from you for one hour. All well?')
  })

  it('reports on a rhythm, the first at once, and tells of each in the conversation', async () => {
    expect(await say('report daily at 6pm')).toContain(
      'I will report every day at 18:00 (UTC), next on 2026-01-01 18:00 UTC. A first report comes at once.',
    )
    expect(await work()).toMatchObject([
      { agent_type: 'reporting', frequency_cron: '0 18 * * *', is_active: true, run_count: 1 },
    ])
    const [, notice] = await replies()
    expect(notice).toContain('is ready (run 1)')
  })

  it('lists, cancels by number, and stops', async () => {
    await say('remind me in 2 hours to stretch')
    await say('every weekday at 8:30 plan the day')
    await say('tell me when NVDA is below 130')
    await say('report daily at 6pm')
    const list = await say('what is planned?')
    expect(list.split('\n').slice(0, 5)).toEqual([
      'Planned:',
      '1. “stretch” (alarm): on 2026-01-01 02:00 UTC',
      '2. “plan the day” (alarm): every weekday at 08:30 (UTC), next on 2026-01-01 08:30 UTC',
      '3. “Report daily at 6pm” (work): every day at 18:00 (UTC), next on 2026-01-01 18:00 UTC',
      '4. “NVDA is below 130” (intent): when NVDA is < 130',
    ])
    expect(await say('cancel 2')).toContain('Cancelled: “plan the day”')
    expect(await say('cancel 4')).toContain('Cancelled: “NVDA is below 130”')
    expect(await say('cancel 4')).toContain('Number 4 is over.')
    expect(await say('cancel 9')).toContain('There is no number 9.')
    expect(await intents()).toEqual([])
    expect(await say('stop')).toContain('Which one?')
    expect(await say('stop all')).toContain('Cancelled: all 2 that were planned')
    expect(await work()).toEqual([])
    expect((await alarms()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    expect(await say('what is planned?')).toContain('Nothing is planned.')
    await say('remind me in 2 hours to stretch')
    expect(await say('stop')).toContain('Cancelled: “stretch” (alarm)')
    expect(await say('stop')).toContain('I will not check in')
    expect(await pending()).toEqual([])
  })

  it('greets back, asks back when it is unclear, with examples, and says what a rule refuses', async () => {
    expect(await say('hello')).toMatch(
      /^Hello\. I keep promises in time\. I do not know your time zone: times are read in the server's, [\w/+-]+, until you say “my time zone is Europe\/Berlin”\. Try “remind me/,
    )
    expect(await say('the weather')).toBe(
      'You said: “the weather”. I found no wish in it. Try “remind me in 10 seconds to stretch”, “tell me when NVDA is below 130”, “what is planned?” or “help”.\nIf you stay silent, I will check in after 20 seconds.',
    )
    expect(await pending()).toEqual([{ timer_id: 'check-in' }])
    expect(await say('remind me to stretch')).toContain('Say when, for example')
    expect(await say('remind me next week to stretch')).toContain('phrases that work')
    expect(await say('my time zone is Mars')).toContain('“my time zone is Europe/Berlin”')
    expect(await say('help')).toContain('- tell me when NVDA is below 130')
    expect(await say('why did you not write?')).toContain('I have not been woken here yet')
    for (let n = 0; n < 25; n++) await say(`tell me when T${n} is below 1`)
    expect(await say('tell me when NVDA is below 130')).toBe(
      'I cannot do that: Limit reached: 25 active triggers max.',
    )
    expect(await intents()).toHaveLength(25)
  })

  it('two minutes: a reminder, follow-ups, the gate, and why', async () => {
    await say('remind me in 10 seconds to stretch')
    await w.advanceBy(10 * SECOND)
    await w.advanceBy(100 * SECOND)
    expect((await replies()).slice(1)).toEqual([
      'Reminder: stretch',
      'Just checking in: anything I can pick up for you?',
      'I will be here when you need me.',
      'Still with me?',
    ])
    const why = await say("why didn't you write?")
    expect(why.split('\n').slice(0, 5)).toEqual([
      'Each time I could have written unasked recently:',
      '- 2026-01-01 00:00:10 UTC, alarm “stretch”: written, as promised',
      '- 2026-01-01 00:00:30 UTC, follow-up “check-in”: written, unanswered follow-up 1 of 3',
      '- 2026-01-01 00:00:50 UTC, follow-up “check-in”: written, unanswered follow-up 2 of 3',
      '- 2026-01-01 00:01:10 UTC, follow-up “check-in”: written, unanswered follow-up 3 of 3',
    ])
    // Left alone after plain talk: three check-ins, and the fourth is held back.
    await say('hello')
    await w.advanceBy(100 * SECOND)
    expect((await replies()).slice(-3)).toEqual([
      'Still with me?',
      'Just checking in: anything I can pick up for you?',
      'I will be here when you need me.',
    ])
    expect(await pending()).toEqual([])
    expect(await say("why didn't you write?")).toContain(
      'held back: 3 unanswered follow-ups in a row, and 3 is the most I may send',
    )
  })

  it('reminders at one instant all come, and a recurring one that nobody answers comes each time', async () => {
    await say('remind me in 6 seconds to call mum')
    await say('remind me in 6 seconds to take the pill')
    await w.advanceBy(6 * SECOND)
    expect((await replies()).slice(-2).toSorted()).toEqual([
      'Reminder: call mum',
      'Reminder: take the pill',
    ])
    await say('every 5 minutes drink water')
    const before = (await replies()).length
    await w.advanceBy(10 * 300 * SECOND)
    const came = (await replies()).slice(before)
    expect(came.filter((text) => text === 'Reminder: drink water')).toHaveLength(10)
  })
})
