/** Time that was missed (rule 6): one for all, none or each, told to the agent; several late ones come as one message. */
import { expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import { testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = '2026-10-05T09:00:00Z'

eachStore('catching up', (store) => {
  const open = async () => {
    const heard: string[] = []
    const app = await testWakeful({
      database: await store.database(),
      startAt: START,
      agents: {
        bot: agent(async (turn) => {
          const payload = (turn.event.payload ?? {}) as Loose
          const names = payload.items?.map(({ name }: Loose) => name).join('+')
          const late = payload.missed === undefined ? '' : ` missed ${payload.missed.count}`
          heard.push(`${turn.event.type} ${names ?? payload.label ?? payload.intent_name}${late}`)
          if (payload.text === 'fail') throw new Error('not now')
          if (payload.label === 'busy')
            await app.call('post_message', { session_key: turn.session.key, text: 'fail' })
          turn.say('ok')
        }),
      },
      work: { report: async (run) => ({ title: run.task, content: `missed ${run.missedCount}` }) },
      env: { LOG_LEVEL: 'silent', AUTONOMY_ENABLED: 'true' },
    })
    afterEachTest(() => app.stop())
    /** Nothing runs until then: as if every process had been away. */
    const away = async (ms: number) => {
      const { engine } = app.app
      const quiesce = engine.quiesce.bind(engine)
      engine.quiesce = async () => null
      await app.advanceBy(ms)
      engine.quiesce = quiesce
      await app.settle()
    }
    return { app, heard, away }
  }
  const hourly = (app: Loose, label: string, more: object) =>
    app.call('set_alarm', {
      ...{ kind: 'cron', cron_expr: '@every 1h', label, wake_message: label, agent_id: 'bot' },
      ...{ conversation_id: label, ...more },
    })

  it('an alarm fires one for all, none, or each, by its catch_up; what was given up is in the ledger', async () => {
    const { app, heard, away } = await open()
    await hourly(app, 'one', {})
    await hourly(app, 'none', { catch_up: 'skip' })
    await hourly(app, 'each', { catch_up: 'all' })
    await hourly(app, 'recent', { catch_up_within_seconds: 5400 })
    await away(4.5 * HOUR)
    expect(heard.filter((each) => each.includes('one'))).toEqual(['alarm one missed 3'])
    expect(heard.filter((each) => each.includes('none'))).toEqual([])
    expect(heard.filter((one) => one.includes('each'))).toEqual(['digest each+each+each+each'])
    expect(heard.filter((one) => one.includes('recent'))).toEqual(['alarm recent missed 1'])
    const { data } = (await app.call('get_ledger', { outcome: 'missed', limit: 50 })) as Loose
    const given = data.filter(({ outcome }: Loose) => outcome === 'missed')
    expect(
      given.map(({ trigger, reason }: Loose) => `${trigger.name} ${reason.count}`).sort(),
    ).toEqual(['none 4', 'recent 2'])
    heard.length = 0
    await app.advanceBy(HOUR)
    expect(heard.map((each) => each.split(' ').slice(0, 2).join(' ')).sort()).toEqual([
      ...['alarm each', 'alarm none', 'alarm one', 'alarm recent'],
    ])
  })

  it('whoever wants each of twenty days gets one message, also from an intent; a slot that is not late comes by itself', async () => {
    const { app, heard, away } = await open()
    const daily = {
      kind: 'cron',
      cron_expr: '0 9 * * *',
      wake_message: 'x',
      agent_id: 'bot',
    } as const
    const all = { catch_up: 'all' as const, conversation_id: 'main' }
    const { id } = (await app.call('set_alarm', { ...daily, ...all, label: 'pill' })) as Loose
    await app.call('create_intent', {
      ...{ user_id: 'local', intent_name: 'water', trigger_type: 'cron', agent_id: 'bot' },
      ...{ trigger_schedule: { cron: '0 9 * * *' }, action_context: 'x', catch_up: 'all' },
      thread_id: 'water',
    })
    await away(20 * 24 * HOUR + 5 * MINUTE)
    const nineteen = (name: string) => Array(19).fill(name).join('+')
    expect(heard.sort()).toEqual([
      ...['alarm pill', `digest ${nineteen('pill')}`],
      ...[`digest ${nineteen('water')}`, 'intent water'],
    ])
    const { data } = (await app.call('get_ledger', { limit: 100 })) as Loose
    const pills = data.filter(({ trigger }: Loose) => trigger.id === id)
    expect(pills.map(({ outcome }: Loose) => outcome)).toEqual(Array(20).fill('sent'))
  })

  it('slots of one session that are late after downtime are one message, each with its record', async () => {
    const { app, heard, away } = await open()
    for (const label of ['a', 'b', 'c'])
      await app.call('set_alarm', {
        ...{ kind: 'once', delay_seconds: 600, label, wake_message: label },
        ...{ agent_id: 'bot', conversation_id: 'night' },
      })
    await away(8 * HOUR)
    expect(heard).toEqual(['digest a+b+c'])
    const { data } = (await app.call('get_ledger', { limit: 50 })) as Loose
    expect(
      data.map(({ outcome, words }: Loose) => `${outcome} ${/together with 2 others/.test(words)}`),
    ).toEqual(Array(3).fill('sent true'))
  })

  it('invariant 10: what is gathered and is cancelled meanwhile reads as cancelled at once, and is not told', async () => {
    const { app, heard, away } = await open()
    const thread = { agent_id: 'bot', conversation_id: 'night' }
    const ids: Record<string, string> = {}
    for (const label of ['a', 'b', 'c', 'busy']) {
      const late = { delay_seconds: label === 'busy' ? 8 * 3600 - 60 : 600 }
      const alarm = { kind: 'once' as const, label, wake_message: label, ...late, ...thread }
      ids[label] = ((await app.call('set_alarm', alarm)) as Loose).id
    }
    const intent = (await app.call('create_intent', {
      ...{ user_id: 'local', intent_name: 'd', trigger_type: 'interval', max_executions: 1 },
      ...{ trigger_schedule: { interval_minutes: 60 }, action_context: 'x' },
      ...{ agent_id: 'bot', thread_id: 'night' },
    })) as Loose
    // The last of them keeps the session busy: its agent's user writes something that it fails over.
    await away(8 * HOUR)
    expect(heard).toEqual(['alarm busy', 'user_message undefined'])
    const told = async () => {
      const { data } = (await app.call('get_ledger', { limit: 50 })) as Loose
      const late = data.filter(({ trigger }: Loose) => trigger.name !== 'busy')
      return Object.fromEntries(late.map((slot: Loose) => [slot.trigger.name, slot.outcome]))
    }
    expect(await told()).toEqual({ a: 'deferred', b: 'deferred', c: 'deferred', d: 'deferred' })
    await app.call('cancel_alarm', { id: ids.a ?? '' })
    await app.call('delete_intent', { id: intent.id })
    const after = { a: 'cancelled', b: 'deferred', c: 'deferred', d: 'cancelled' }
    expect(await told()).toEqual(after)
    const waiting = (await app.call('list_deferred', { user_id: 'me' })) as Loose
    expect(waiting.data.map(({ name }: Loose) => name).sort()).toEqual(['b', 'c'])
    await app.advanceBy(MINUTE)
    expect(heard.at(-1)).toBe('digest b+c')
    expect(await told()).toEqual({ ...after, b: 'sent', c: 'sent' })
  })

  it('promised is promised: what is gathered waits a minute for its session to fall silent, and not for ever', async () => {
    const { app, heard, away } = await open()
    for (const label of ['a', 'b', 'busy'])
      await app.call('set_alarm', {
        ...{ kind: 'once', label, wake_message: label, agent_id: 'bot', conversation_id: 'night' },
        delay_seconds: label === 'busy' ? 8 * 3600 - 60 : 600,
      })
    await away(8 * HOUR)
    const waiting = async () => {
      const { data } = (await app.call('list_deferred', {
        user_id: 'me',
        status: 'waiting',
      })) as Loose
      return data.map(({ name }: Loose) => name).sort()
    }
    // Somebody goes on writing, so that there is always something to be done.
    for (let told = 0; told < 14; told++) {
      expect(await waiting(), `${told * 5} s`).toEqual(told < 12 ? ['a', 'b'] : [])
      await app.call('post_message', { session_key: 'local:bot:night', text: 'fail' })
      await app.advanceBy(5000)
    }
    await app.advanceBy(5 * MINUTE)
    expect(heard.filter((each) => each.startsWith('digest'))).toEqual(['digest a+b'])
  })

  it('intents and work keep to it as well', async () => {
    const { app, heard, away } = await open()
    const intent = (intent_name: string, more: object) =>
      app.call('create_intent', {
        ...{ user_id: 'local', intent_name, trigger_type: 'interval', agent_id: 'bot' },
        // In one thread they would come as one digest.
        thread_id: intent_name,
        ...{ trigger_schedule: { interval_minutes: 60 }, action_context: 'x', ...more },
      })
    await intent('one', {})
    await intent('none', { catch_up: 'skip' })
    await intent('each', { catch_up: 'all' })
    const work = (task: string, more: object) =>
      app.call('create_work', {
        task,
        agent_type: 'report',
        frequency: '@every 1h',
        run_first: false,
        ...more,
      })
    const made = (await Promise.all([
      work('one', {}),
      work('none', { catch_up: 'skip' }),
    ])) as Loose[]
    await away(3.5 * HOUR)
    expect(heard.filter((one) => one.includes('one'))).toEqual(['intent one missed 2'])
    expect(heard.filter((one) => one.includes('none'))).toEqual([])
    expect(heard.join(' ').match(/each/g)).toHaveLength(3)
    const outputs = await Promise.all(
      made.map(async ({ work: { id } }) => ((await app.call('get_work', { id })) as Loose).outputs),
    )
    expect(outputs.map((list) => list.map(({ content }: Loose) => content))).toEqual([
      ['missed 2'],
      [],
    ])
  })
})
