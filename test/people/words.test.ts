/** Word of what was done, a person's clock, and preferences said in words: each as somebody meets it in a conversation. */

import { expect, it } from 'vitest'
import { companion } from '../../packages/companion/src/companion.ts'
import * as commands from '../../src/agents/commands.ts'
import { agent } from '../../src/agents/function.ts'
import { testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

eachStore('words and clocks', (store) => {
  const open = async (env: Record<string, string> = {}) => {
    const broken = { now: false }
    const app = await testWakeful({
      database: await store.database(),
      startAt: '2026-11-16T09:00:00Z',
      agents: {
        companion,
        maker: agent((turn) => {
          const { text = '' } = (turn.event.payload ?? {}) as Loose
          if (turn.event.type !== 'user_message') return
          commands.createWork(turn, {
            task: 'count',
            agent_type: 'count',
            frequency: '@every 1h',
            ...JSON.parse(text),
          })
        }),
      },
      work: {
        count: async () => {
          if (broken.now) throw new Error('no beans')
          return { title: 'Beans', content: 'three' }
        },
      },
      env: { LOG_LEVEL: 'silent', WAKEFUL_TIMEZONE: 'UTC', ...env },
    })
    afterEachTest(() => app.stop())
    const said = async (key: string): Promise<string[]> => {
      const { data } = (await app.call('list_effects', { session_key: key })) as Loose
      return data
        .filter(({ type }: Loose) => type === 'send_message')
        .map(({ payload }: Loose) => payload.content)
    }
    const say = async (key: string, text: string, more: object = {}) => {
      const before = (await said(key).catch(() => [])).length
      await app.call('post_message', { session_key: key, text, ...more })
      await app.settle()
      return (await said(key)).slice(before).join('\n')
    }
    return { app, broken, said, say }
  }

  it('work made in a conversation tells it of each success, of the first failure of a row, and of the recovery', async () => {
    const { app, broken, said, say } = await open()
    await say('ann:maker:t', '{}')
    broken.now = true
    await app.advanceBy(3 * HOUR)
    broken.now = false
    await app.advanceBy(HOUR)
    const heads = (await said('ann:maker:t')).map((text) => text.split('\n')[0])
    expect(heads).toEqual([
      '"Beans" is ready (run 1).',
      '"count" failed (run 2). You hear of it again when it succeeds.',
      '"Beans" works again and is ready (run 5).',
    ])
  })

  it('notify false tells nobody, and notify_session another conversation', async () => {
    const { say, said } = await open()
    await say('bea:maker:quiet', '{"notify":false}')
    await say('bea:maker:t', '{"notify_session":"bea:maker:news"}')
    expect(await said('bea:maker:quiet')).toEqual([])
    expect(await said('bea:maker:t')).toEqual([])
    expect((await said('bea:maker:news'))[0]).toMatch(/^"Beans" is ready/)
  })

  it('a newcomer in Berlin who writes "at 9" is woken at nine there, by every agent and tool', async () => {
    const { app, say } = await open()
    const answer = await say('cal:companion:t', 'remind me tomorrow at 9 to call mum', {
      timezone: 'Europe/Berlin',
    })
    expect(answer).toMatch(/2026-11-17 09:00 Europe\/Berlin/)
    const row = (await app.call('get_preferences', { user_id: 'cal' })) as Loose
    expect(row).toMatchObject({ timezone: 'Europe/Berlin', timezone_known: true })
    const intent = (await app.call('create_intent', {
      ...{ user_id: 'cal', intent_name: 'x', trigger_type: 'cron', action_context: 'x' },
      ...{ trigger_schedule: { cron: '0 9 * * *' }, agent_id: 'companion' },
    })) as Loose
    expect(intent).toMatchObject({
      timezone: 'Europe/Berlin',
      next_check: '2026-11-17T08:00:00.000Z',
    })
    // What a device says later does not change what is known.
    await say('cal:companion:t', 'hello', { timezone: 'Asia/Tokyo' })
    expect(await app.call('get_preferences', { user_id: 'cal' })).toMatchObject({
      timezone: 'Europe/Berlin',
    })
  })

  it("until it is known the server's own zone is used, and said", async () => {
    const { say } = await open({ WAKEFUL_TIMEZONE: 'America/New_York' })
    expect(await say('dan:companion:t', 'hello')).toMatch(
      /times are read in the server's, America\/New_York/,
    )
    expect(await say('dan:companion:t', 'remind me tomorrow at 9 to walk')).toMatch(
      /2026-11-17 09:00 America\/New_York/,
    )
  })

  it('the companion understands when somebody wants quiet, how much is enough, and what they missed', async () => {
    const { app, say, said } = await open()
    const key = 'eve:companion:t'
    await say(key, 'hello', { timezone: 'Europe/Berlin' })
    expect(await say(key, 'quiet between 22:00 and 7:30')).toMatch(
      /^Quiet from 22:00 to 07:30, Europe\/Berlin/,
    )
    expect(await say(key, 'at most five messages a day')).toMatch(/^At most 5 messages a day/)
    expect(await app.call('get_preferences', { user_id: 'eve' })).toMatchObject({
      quiet_hours: [{ from: '22:00', to: '07:30' }],
      most_unasked_per_day: 5,
    })
    await say(key, 'remind me in 30 minutes to drink')
    await say(key, 'remind me in 40 minutes to eat')
    expect(await say(key, 'do not disturb me until tomorrow at 10')).toMatch(
      /^I will not disturb you until 2026-11-17 10:00 Europe\/Berlin/,
    )
    await app.advanceBy(HOUR)
    expect(await say(key, 'what did I miss?')).toMatch(
      /1\. “drink”, due .* \(paused, comes at 2026-11-17 10:00/,
    )
    const before = (await said(key)).length
    await app.advanceTo('2026-11-17T09:00:00Z')
    const fresh = (await said(key)).slice(before)
    expect(fresh).toHaveLength(1)
    expect(fresh[0]).toMatch(/^Meanwhile, in one message:\n.*reminder: drink\n.*reminder: eat$/)
  })

  it('quiet hours for every day replace those for every day and say so; windows of single days stay and are told', async () => {
    const { app, say } = await open()
    const key = 'fay:companion:t'
    const saturday = { days: ['sat' as const], from: '13:00', to: '15:00' }
    await app.call('set_preferences', {
      ...{ user_id: 'fay', quiet_hours: [{ from: '23:00', to: '08:00' }, saturday] },
    })
    const answer = await say(key, 'quiet between 22:00 and 7:30')
    expect(answer).toMatch(/^Quiet from 22:00 to 07:30, UTC: /)
    expect(answer).toMatch(
      /That is instead of 23:00 to 08:00\. You have quiet still from 13:00 to 15:00 on Saturday\.$/,
    )
    const known = async () =>
      ((await app.call('get_preferences', { user_id: 'fay' })) as Loose).quiet_hours
    expect(await known()).toEqual([{ from: '22:00', to: '07:30' }, saturday])
    expect(await say(key, 'quiet between 22:00 and 7:30')).not.toMatch(/instead/)
    await say(key, 'no quiet hours')
    expect(await known()).toEqual([])
  })
})
