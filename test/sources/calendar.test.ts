/** Calendars: zones, whole days, recurrences with their exceptions, and files made to hang a reader. */
import { describe, expect, it } from 'vitest'
import { calendarSource, entriesWithin } from '../../packages/sources/src/calendar.ts'
import { fixture, serve, visit, web } from './stage.ts'

const NOW = new Date('2026-03-27T12:00:00Z')
const calendar = (...events: string[]) =>
  `BEGIN:VCALENDAR\r\nVERSION:2.0\r\n${events.join('\r\n')}\r\nEND:VCALENDAR\r\n`
const event = (...lines: string[]) =>
  ['BEGIN:VEVENT', 'UID:x', 'SUMMARY:X', ...lines, 'END:VEVENT'].join('\r\n')

function starts(text: string, now = NOW, timezone: string | null = null) {
  return entriesWithin(text, now, timezone).entries.map(({ startsAt }) => startsAt.toISOString())
}

describe('a calendar as programs write it', () => {
  const { entries, warnings } = entriesWithin(fixture('team.ics').toString(), NOW, null)
  const of = (uid: string) =>
    entries
      .filter((each) => each.uid === `${uid}@example.com`)
      .map(({ startsAt, endsAt, title }) => [
        startsAt.toISOString(),
        endsAt?.toISOString() ?? null,
        title,
      ])

  it('a single entry with an IANA zone that the file does not describe, its text unfolded', () => {
    const title = 'Call with New York, about a very long subject that the program folded'
    expect(of('single')).toEqual([['2026-03-27T13:30:00.000Z', '2026-03-27T14:30:00.000Z', title]])
  })

  it('a recurring one keeps its local time over the clock change; exceptions are out, a moved one is moved', () => {
    expect(of('standup')).toEqual([
      ['2026-03-30T09:00:00.000Z', '2026-03-30T09:30:00.000Z', 'Stand-up, later today'],
      ['2026-04-02T07:00:00.000Z', '2026-04-02T07:15:00.000Z', 'Stand-up'],
      ['2026-04-03T07:00:00.000Z', '2026-04-03T07:15:00.000Z', 'Stand-up'],
    ])
  })

  it('an occurrence is named by when it was to be, so that a moved one stays the same fact', () => {
    const facts = entries.filter(({ uid }) => uid.startsWith('standup')).map(({ fact }) => fact)
    expect(facts[0]).toBe('standup@example.com 2026-03-30T07:00:00.000Z')
    expect(new Set(entries.map(({ fact }) => fact)).size).toBe(entries.length)
  })

  it('a zone that only the file describes, over the change of its clock', () => {
    const times = of('outlook').map(([start]) => start)
    expect(times).toEqual(['2026-03-28T09:00:00.000Z', '2026-03-29T08:00:00.000Z'])
  })

  it('whole days and times without a zone are in the zone of the calendar', () => {
    expect(of('holiday')).toEqual([
      ['2026-03-29T22:00:00.000Z', '2026-03-30T22:00:00.000Z', 'Company holiday'],
    ])
    expect(of('floating').map(([start]) => start)).toEqual(['2026-03-28T17:00:00.000Z'])
  })

  it('a time that the clock skips is read with the offset before the gap', () => {
    expect(of('gap').map(([start]) => start)).toEqual(['2026-03-29T01:30:00.000Z'])
  })

  it('called off, long ago and unreadable ones are left out, the last with a warning', () => {
    expect([...of('off'), ...of('past'), ...of('broken')]).toEqual([])
    expect(warnings).toEqual(['1 entries could not be read'])
  })
})

describe('recurrences', () => {
  const rule = (text: string, start = 'DTSTART:20200101T090000Z', ...more: string[]) =>
    starts(calendar(event(start, `RRULE:${text}`, ...more)))

  it('end with UNTIL, by instant or by the end of a day', () => {
    expect(rule('FREQ=DAILY;UNTIL=20260329T090000Z')).toEqual([
      '2026-03-28T09:00:00.000Z',
      '2026-03-29T09:00:00.000Z',
    ])
    expect(rule('FREQ=DAILY;UNTIL=20260328')).toEqual(['2026-03-28T09:00:00.000Z'])
  })

  it('extra dates are in, a bare date takes out its whole day', () => {
    const start = 'DTSTART;TZID=Asia/Tokyo:20200101T060000'
    const more = ['EXDATE;VALUE=DATE:20260329', 'RDATE:20260328T150000Z']
    expect(rule('FREQ=DAILY;UNTIL=20260330', start, ...more)).toEqual([
      '2026-03-27T21:00:00.000Z',
      '2026-03-28T15:00:00.000Z',
      '2026-03-29T21:00:00.000Z',
    ])
  })

  it('the higher SEQUENCE of two versions counts', () => {
    const version = (n: number, start: string) => event(`SEQUENCE:${n}`, `DTSTART:${start}`)
    const text = calendar(version(2, '20260328T100000Z'), version(1, '20260328T080000Z'))
    expect(starts(text)).toEqual(['2026-03-28T10:00:00.000Z'])
  })
})

describe('calendars made to hang a reader', () => {
  const read = (text: string) => {
    try {
      return entriesWithin(text, NOW, null)
    } catch (error) {
      return { entries: [], warnings: [(error as Error).message] }
    }
  }

  it.each([
    'FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30',
    'FREQ=MONTHLY;BYDAY=5FR;BYSETPOS=-1',
    'FREQ=SECONDLY',
    'FREQ=MINUTELY;BYMONTHDAY=30;BYMONTH=2',
    'FREQ=DAILY;INTERVAL=9999999',
    'FREQ=HOURLY;COUNT=9999999',
    'FREQ=YEARLY;BYYEARDAY=366;COUNT=9999999',
    `FREQ=DAILY;BYHOUR=${[...Array(24).keys()]};BYMINUTE=${[...Array(60).keys()]};BYSECOND=${[...Array(60).keys()]}`,
    'FREQ=DAILY;INTERVAL=0',
    'FREQ=NEVER',
  ])('%s', (text) => {
    const good = 'BEGIN:VEVENT\r\nUID:good\r\nDTSTART:20260328T100000Z\r\nEND:VEVENT'
    const old = event('DTSTART:00010101T000000Z', `RRULE:${text}`)
    const { entries } = read(calendar(good, ...Array.from({ length: 50 }, () => old)))
    expect(entries.some(({ uid }) => uid === 'good')).toBe(true)
    expect(entries.length).toBeLessThanOrEqual(500)
  })

  it('thousands of endless series are cut by one budget, and that is said', () => {
    const many = Array.from({ length: 3000 }, (_, n) =>
      event('DTSTART:19700101T000000Z', 'RRULE:FREQ=DAILY;COUNT=9999999').replace(
        'UID:x',
        `UID:${n}`,
      ),
    )
    const { entries, warnings } = read(calendar(...many))
    expect(entries.length).toBeGreaterThan(100)
    expect(warnings.join()).toContain('too many recurrences')
  })

  it('a zone that describes itself by an endless rule', () => {
    const zone =
      'BEGIN:VTIMEZONE\r\nTZID:Evil\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE'
    const { entries } = read(calendar(zone, event('DTSTART;TZID=Evil:20260328T100000')))
    expect(entries[0]?.startsAt.toISOString()).toBe('2026-03-28T09:00:00.000Z')
  })

  it.each([
    ['entries that begin and never end', calendar('BEGIN:VEVENT\r\n'.repeat(140_000))],
    ['one line of two million letters', calendar(event(`DESCRIPTION:${'x'.repeat(2_000_000)}`))],
    ['deep nesting', calendar(event('BEGIN:X\r\n'.repeat(5000), 'DTSTART:20260328T100000Z'))],
    ['more entries than are read', calendar(...Array.from({ length: 25_000 }, () => event()))],
  ])('%s', (_, text) => {
    expect(read(text).warnings.join()).toMatch(/could not be read|more than 20000 entries/)
  })

  it.each([
    ['a web page', '<html></html>', 'no iCalendar file'],
    ['half a file', calendar(event()).slice(0, -20), 'END:VCALENDAR is missing'],
  ])('%s is refused in words', (_, text, says) => {
    expect(() => entriesWithin(text, NOW, null)).toThrow(says)
  })
})

describe('the source', () => {
  const now = NOW.toISOString()

  it('tells the entries of its person, and takes back what has vanished', async () => {
    const first = calendar(
      event('DTSTART:20260328T100000Z', 'DTEND:20260328T110000Z'),
      event('DTSTART:20260329T100000Z').replace('UID:x', 'UID:y'),
    )
    const page = await web(serve(first))
    const source = calendarSource({ url: `${page.url}/cal.ics`, userId: 'ann' })
    const one = await visit(source, { now })
    expect(one.signals).toMatchObject([
      {
        kind: 'calendar',
        userId: 'ann',
        key: 'x',
        fact: 'x',
        at: new Date('2026-03-28T10:00:00Z'),
      },
      { fact: 'y' },
    ])
    const { told } = one.visit.memory(one.signals) ?? {}
    page.answer = serve(calendar(event('DTSTART:20260328T123000Z')))
    const two = await visit(source, { now, row: { told: told ?? null } })
    expect(two.visit.news(two.signals)).toMatchObject([
      { fact: 'x', at: new Date('2026-03-28T12:30:00Z') },
      { fact: 'y', gone: true, userId: 'ann' },
    ])
    // What has begun is not called off: it is only over.
    const late = { now: '2026-03-30T00:00:00Z', row: { told: told ?? null } }
    expect((await visit(source, late)).signals).toEqual([])
  })

  it('asks for the whole again after a day, since time brings new occurrences to an unchanged file', async () => {
    const page = await web(serve(calendar(event('DTSTART:20260328T100000Z'))))
    const source = calendarSource({ url: `${page.url}/cal.ics` })
    const row = { etag: '"1"', told: '{}' }
    await visit(source, { now, row: { ...row, read_at: new Date(NOW.getTime() - 3_600_000) } })
    await visit(source, { now, row: { ...row, read_at: new Date(NOW.getTime() - 86_400_000) } })
    expect(page.asked.map(({ headers }) => headers['if-none-match'])).toEqual(['"1"', undefined])
  })

  it('refuses settings that cannot be meant', () => {
    const url = 'https://cal.example.com/a.ics'
    expect(() => calendarSource({ url, userId: 'a:b' })).toThrow('userId takes')
    expect(() => calendarSource({ url, timezone: 'Mars/Olympus' })).toThrow('timezone takes')
    expect(() => calendarSource({ url, everySeconds: 10 })).toThrow(
      'everySeconds takes 60 to 86400',
    )
    expect(() => calendarSource({ url: 'webcal://secret@x' })).toThrow(
      /^calendarSource: url takes an http:\/\/ or https:\/\/ URL$/,
    )
  })
})
