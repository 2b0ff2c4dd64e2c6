/** Changing and cancelling by name, and answers to what was asked back: which rows exist afterwards, and the words. */
import { readFileSync } from 'node:fs'
import { beforeEach, expect, it } from 'vitest'
import { companion } from '../../packages/companion/src/companion.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { talk } from './talk.ts'

type Row = Record<string, unknown>

eachStore('the companion changes its mind', (store) => {
  const stage = sharedStage(store, { agents: { companion } })
  let w: ReturnType<typeof stage>
  beforeEach(async () => {
    w = stage()
    await w.query('delete from wakeful.scheduled_intents')
  })

  const { say, replies } = talk(() => w)

  const active = () =>
    w.query<Row>(`select * from wakeful.alarms where status = 'active' order by wake_message, id`)
  const count = async () => (await w.query('select 1 from wakeful.alarms')).length

  it('moves a reminder by name, all else the same, in one turn', async () => {
    await say('remind me tomorrow at 3pm to see the dentist')
    await say('every day at 8 drink water')
    expect(await say('move the dentist reminder to 10am')).toBe(
      'Moved: “see the dentist” comes on 2026-01-02 10:00 UTC; it was “see the dentist” (alarm): on 2026-01-02 15:00 UTC.',
    )
    expect(await say('move the water reminder to half past 7')).toContain(
      'every day at 07:30 (UTC)',
    )
    expect(await active()).toMatchObject([
      { wake_message: 'drink water', cron_expr: '30 7 * * *', conversation_id: 't' },
      {
        wake_message: 'see the dentist',
        fire_at: new Date('2026-01-02T10:00:00Z'),
        label: 'see the dentist',
      },
    ])
    const turns = await w.query<Row>(
      `select status, count(*)::int as n from wakeful.alarms group by status order by status`,
    )
    expect(turns).toEqual([
      { status: 'active', n: 2 },
      { status: 'cancelled', n: 2 },
    ])
    expect(await say('change the dentist reminder to saturday')).toContain(
      'on 2026-01-03 10:00 UTC',
    )
    expect(await say('postpone the dentist reminder by an hour')).toContain(
      'on 2026-01-03 11:00 UTC',
    )
    expect(await say('change the water reminder to weekdays at 8:30 and 17:00')).toContain(
      'every weekday at 08:30 and 17:00 (UTC)',
    )
    await w.advanceBy(9 * 3600 * 1000)
    expect((await replies()).at(-1)).toBe('Reminder: drink water')
  })

  it('does what docs/demo.md lists, line after line', async () => {
    const page = readFileSync(new URL('../../docs/demo.md', import.meta.url), 'utf8')
    const [, lines = ''] = /^It also understands:\n\n([\s\S]+?)\n\n/m.exec(page) ?? []
    // Single words go with the name of what they change.
    const wishes = [...lines.matchAll(/`([^` ]+ [^`]+)`/g)].map(([, wish = '']) => wish)
    expect(wishes.slice(0, 3)).toEqual([
      'every weekday at 8:30 and 17:00 plan the day',
      'move the plan reminder to 9am',
      'cancel the plan reminder',
    ])
    const said: string[] = []
    for (const wish of wishes) said.push(await say(wish))
    expect(said.slice(1, 3)).toEqual([
      expect.stringMatching(/^Moved: “plan the day” comes every weekday at 09:00 and 17:00/),
      expect.stringMatching(/^Cancelled: “plan the day”/),
    ])
    expect(said.filter((each) => /nothing was|did not understand|cannot/i.test(each))).toEqual([])
  })

  it('keeps what another door had set with it', async () => {
    await w.set(
      {
        schedule: 'tomorrow at 9',
        wake_message: 'see the dentist',
        agent_id: 'companion',
        conversation_id: 'other',
        payload: { room: '12' },
        max_failures: 2,
      },
      { 'wakeful-act-as': 'ann' },
    )
    await say('move the dentist reminder to 10am')
    expect(await active()).toMatchObject([
      { conversation_id: 'other', payload: '{"room":"12"}', max_failures: 2 },
    ])
  })

  it('changes nothing where a change is not exact, and says what would be', async () => {
    await say('every day at 8 drink water')
    const before = await active()
    expect(await say('move the water reminder to tomorrow at 3pm')).toMatch(
      /^Nothing was changed: .* one time cannot be moved alone/,
    )
    expect(await say('snooze the water reminder for an hour')).toContain(
      '“postpone the water reminder by an hour”',
    )
    expect(await say('postpone the water reminder by an hour')).toContain('Nothing was changed')
    await say('my time zone is Europe/Berlin')
    expect(await say('move the water reminder to 10am')).toContain('it is kept in UTC')
    await say('tell me when NVDA is below 130')
    expect(await say('move NVDA to 10am')).toContain(
      'Only reminders and the rhythm of work can be moved',
    )
    expect(await active()).toEqual(before)
  })

  it('cancels by name: none is said, one is done, several are asked about', async () => {
    await say('every day at 8 drink water')
    await say('every friday at 8 water the plants')
    await say('remind me tomorrow at 3pm to see the dentist')
    expect(await say('cancel the tea reminder')).toMatch(
      /^I know no plan with “tea”\. Planned:\n1\. /,
    )
    expect(await say('stop reminding me about the dentist')).toContain(
      'Cancelled: “see the dentist”',
    )
    const which = await say('cancel the water reminder')
    expect(which).toMatch(/^Which one\? Say its number\.\n1\. “.*”.*\n2\. “.*”.*$/)
    expect(await active()).toHaveLength(2)
    expect(await say('2')).toContain('Cancelled: “water the plants”')
    expect(await say('2')).toContain('Number 2 of what?')
    expect(await active()).toMatchObject([{ wake_message: 'drink water' }])
    expect(await say('cancel it')).toContain('Cancelled: “drink water”')
  })

  it('asks back before it leaves anything out', async () => {
    await say('every day at 8 drink water')
    await say('remind me on saturday at 3pm to see the dentist')
    const asked = await say('dont remind me tomorrow')
    expect(asked).toContain('This is planned tomorrow:\n1. “drink water”')
    expect(asked).not.toContain('dentist')
    expect(asked).toContain('Shall I cancel it? Say “yes” or “no”.')
    expect(asked).toContain('I cannot leave out a single time')
    expect(await say('never mind')).toContain('nothing was changed')
    expect(await say('yes')).toContain('I have not asked anything')
    expect(await active()).toHaveLength(2)
    await say('dont remind me tomorrow')
    expect(await say('yes')).toContain('Cancelled: “drink water”')
    expect(await active()).toMatchObject([{ wake_message: 'see the dentist' }])
    expect(await say('what is planned on saturday?')).toContain('1. “see the dentist”')
    expect(await say('what is planned tomorrow?')).toContain('Nothing is planned tomorrow.')
  })

  it('sets what was asked back only when it is confirmed', async () => {
    expect(await say('remind me at 5pm to prepare the morning meeting')).toBe(
      '“morning” in it may be a time. Shall I remind you on 2026-01-01 17:00 UTC: “prepare the morning meeting”? Say “yes” or “no”.',
    )
    expect(await count()).toBe(0)
    await say('no')
    expect(await count()).toBe(0)
    await say('remind me at 9pm to go to the party on friday')
    expect(await say('1')).toContain('on 2026-01-02 21:00 UTC: “go to the party”')
    expect(await say('remind me to call mum')).toContain('When shall I say “call mum”?')
    expect(await say('tomorrow at 9')).toContain('on 2026-01-02 09:00 UTC: “call mum”')
    expect(await say('remind me tomorrow at 10')).toContain(
      'What shall I say on 2026-01-02 10:00 UTC',
    )
    expect(await say('buy bread')).toContain('“buy bread”')
    expect(await say('remind me at 10 to call mum and at 11 to call dad')).toContain('“call dad”')
    expect(await count()).toBe(5)
    await say('remind me tomorrow at 10')
    expect(await say('hello')).toContain('Hello.')
    expect(await say('buy bread')).toContain('I found no wish')
    expect(await count()).toBe(5)
  })
})
