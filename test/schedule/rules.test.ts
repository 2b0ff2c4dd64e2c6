import { describe, expect, it } from 'vitest'
import {
  formatLocal,
  isZone,
  localInstant,
  maxFiresPerLocalDay,
  minSpacingMs,
  missed,
  next,
  parseCron,
  parseFrequency,
  type Schedule,
  ScheduleError,
  tzDataVersion,
} from '../../packages/schedule/src/index.ts'
import { cpuMs } from '../setup/cpu.ts'

const at = (text: string) => Date.parse(text)
const iso = (instants: number[]) => instants.map((ms) => new Date(ms).toISOString().slice(0, 16))
const fires = (expr: string, after: string, count = 3, zone = 'UTC') =>
  iso(next(parseCron(expr, zone).schedule, at(after), { count }))
const refused = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    if (error instanceof ScheduleError) return error.errors.join('\n')
    throw error
  }
  throw new Error('was accepted')
}

describe('the cron dialect', () => {
  it.each([
    ['0 9 * * FRI-sun', '0 9 * * 0,5,6'],
    ['0 9 ? * 7', '0 9 * * 0'],
    ['5/20 22-2 * NOV-feb *', '5,25,45 0-2,22,23 * 1,2,11,12 *'],
    ['*/15,7 */1 * * 1-7', '*/15,7 * * * 0-6'],
    ['0 9 L,15W,lw,l-3 * *', '0 9 L,15W,LW,L-3 * *'],
    ['0 9 * * fri#2,5L,sun#l', '0 9 * * 5#2,5#L,0#L'],
    ['@YEARLY', '0 0 1 1 *'],
    ['@midnight', '0 0 * * *'],
    ['@every 90m', '@every 1h30m'],
    ['@every 1d', '@every 24h'],
  ])('reads %s as %s', (expr, canonical) => {
    expect(parseCron(expr).canonical).toBe(canonical)
    expect(parseCron(canonical).canonical).toBe(canonical)
  })

  it('ends where it is told to: after that nothing fires, is missed or is ahead', () => {
    const { schedule, canonical, description } = parseCron(
      '0 9 * * 1-5  until 2026-11-18T10:00',
      'Europe/Berlin',
    )
    expect(canonical).toBe('0 9 * * 1-5 until 2026-11-18T09:00:00Z')
    expect(parseCron(canonical, 'Europe/Berlin').canonical).toBe(canonical)
    expect(description).toBe(
      'every weekday at 09:00 (Europe/Berlin), until 2026-11-18 10:00 Europe/Berlin',
    )
    const monday = at('2026-11-16T00:00Z')
    expect(iso(next(schedule, monday, { count: 9 }))).toEqual([
      '2026-11-16T08:00',
      '2026-11-17T08:00',
      '2026-11-18T08:00',
    ])
    const [first = 0] = next(schedule, monday)
    expect(missed(schedule, first, at('2026-12-01T00:00Z'), monday)).toEqual({
      missedCount: 2,
      nextAt: null,
    })
    const every = parseCron('@every 1h UNTIL 2026-11-16T02:30:00Z').schedule
    expect(iso(next(every, monday, { anchor: monday, count: 9 }))).toEqual([
      '2026-11-16T01:00',
      '2026-11-16T02:00',
    ])
    expect(missed(every, monday, at('2026-12-01T00:00Z'), monday)).toEqual({
      missedCount: 2,
      nextAt: null,
    })
    expect(refused(() => parseCron('0 9 * * * until friday'))).toContain('2030-01-31T09:00:00Z')
    expect(
      refused(() => parseCron('0 9 * * * until 2030-01-01T00:00Z until 2031-01-01T00:00Z')),
    ).toContain('once')
  })

  it('knows the nearest weekday, the last weekday and days before the last', () => {
    // 1 August 2026 is a Saturday, 15 August too, 31 May 2026 a Sunday.
    expect(fires('0 9 1W * *', '2026-07-31T00:00Z', 1)).toEqual(['2026-08-03T09:00'])
    expect(fires('0 9 15W * *', '2026-08-01T00:00Z', 1)).toEqual(['2026-08-14T09:00'])
    expect(fires('0 9 31W * *', '2026-05-01T00:00Z', 1)).toEqual(['2026-05-29T09:00'])
    expect(fires('0 9 LW * *', '2026-05-01T00:00Z', 1)).toEqual(['2026-05-29T09:00'])
    expect(fires('0 9 L-2 2 *', '2026-01-01T00:00Z', 3)).toEqual([
      '2026-02-26T09:00',
      '2027-02-26T09:00',
      '2028-02-27T09:00',
    ])
    expect(fires('0 9 * * 5L', '2026-11-01T00:00Z', 2)).toEqual([
      '2026-11-27T09:00',
      '2026-12-25T09:00',
    ])
  })

  it('joins the two day fields by OR when both restrict', () => {
    expect(fires('0 0 13 * 5', '2026-11-01T00:00Z', 3)).toEqual([
      '2026-11-06T00:00',
      '2026-11-13T00:00',
      '2026-11-20T00:00',
    ])
    expect(fires('0 0 L * 5#1', '2026-11-01T00:00Z', 3)).toEqual([
      '2026-11-06T00:00',
      '2026-11-30T00:00',
      '2026-12-04T00:00',
    ])
  })

  it.each([
    ['0 0 9 * * *', 'leave out seconds'],
    ['TZ=Asia/Tokyo 0 9 * * *', 'timezone'],
    ['CRON_TZ=UTC 0 9 * * *', 'timezone'],
    ['@every 0s', '@every 5m'],
    ['@every -5m', '@every 5m'],
    ['@every 500ms', '@every 5m'],
    ['@every 1.5h', '@every 1h30m'],
    ['0 0 30 2 *', 'never fires'],
    ['0 0 31 4,6,9,11 *', 'never fires'],
    ['0 0 L-30 2 *', 'never fires'],
    ['0 0 31W 4 *', 'never fires'],
    ['*/90 * * * *', '@every 1h30m'],
    ['0 0 * * L', 'FRIL'],
    ['0 0 * ? *', '1-12'],
    [`0 0 * * ${'1,'.repeat(130)}1`, '256'],
    ['@fortnightly', '@daily'],
  ])('refuses %s and says %s', (expr, hint) => {
    expect(refused(() => parseCron(expr))).toContain(hint)
  })

  it('names every wrong field at once', () => {
    expect(refused(() => parseCron('60 24 0 13 8')).split('\n')).toHaveLength(5)
  })

  it('accepts what fires rarely', () => {
    expect(fires('0 0 29 2 *', '2026-01-01T00:00Z', 2)).toEqual([
      '2028-02-29T00:00',
      '2032-02-29T00:00',
    ])
    expect(fires('0 0 * 2 5#5', '2026-01-01T00:00Z', 1)).toEqual(['2036-02-29T00:00'])
  })
})

describe('daylight saving', () => {
  it('a fixed time in the gap fires once, right after it', () => {
    expect(fires('0,15,30 2 * * *', '2026-03-28T12:00Z', 2, 'Europe/Berlin')).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:00',
    ])
    expect(fires('0 2,3 * * *', '2026-03-28T12:00Z', 2, 'Europe/Berlin')).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:00',
    ])
  })

  it('a time that happens twice fires once, the first time', () => {
    expect(fires('30 2 * * *', '2026-10-24T12:00Z', 2, 'Europe/Berlin')).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
    // Seen from between the two passes.
    expect(fires('30 2 * * *', '2026-10-25T00:45Z', 1, 'Europe/Berlin')).toEqual([
      '2026-10-26T01:30',
    ])
  })

  it('wildcards follow elapsed time, in both passes, and make up nothing', () => {
    expect(fires('30 * * * *', '2026-10-24T23:30Z', 3, 'Europe/Berlin')).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      '2026-10-25T02:30',
    ])
    expect(fires('*/20 2 * * *', '2026-03-28T12:00Z', 1, 'Europe/Berlin')).toEqual([
      '2026-03-30T00:00',
    ])
  })

  it('a day that a country skipped does not fire', () => {
    expect(fires('0 9 * * *', '2011-12-29T00:00Z', 2, 'Pacific/Apia')).toEqual([
      '2011-12-29T19:00',
      '2011-12-30T19:00',
    ])
  })
})

describe('zones', () => {
  it('takes IANA names and links only', () => {
    for (const name of [
      'UTC',
      'Europe/Kyiv',
      'Europe/Kiev',
      'Asia/Calcutta',
      'Etc/GMT+1',
      'EST5EDT',
    ]) {
      expect(isZone(name), name).toBe(true)
    }
    for (const name of [
      '',
      ' ',
      '+01:00',
      '-05',
      'GMT+1',
      'Mars/Base',
      'BST',
      'PST',
      'UTC ',
      'a'.repeat(99),
    ]) {
      expect(isZone(name), name).toBe(false)
    }
    expect(refused(() => parseCron('0 9 * * *', '+02:00'))).toContain('Europe/Berlin')
    expect(parseCron('0 9 * * *', 'europe/berlin').schedule.timezone).toBe('Europe/Berlin')
  })

  it('reads an instant without an offset in the zone', () => {
    expect(localInstant('2026-11-16T09:00', 'Europe/Berlin')).toBe(at('2026-11-16T08:00Z'))
    expect(localInstant('2026-11-16 09:00:30.5', 'Europe/Berlin')).toBe(
      at('2026-11-16T08:00:30.500Z'),
    )
    expect(localInstant('2026-11-16T09:00:00Z', 'Europe/Berlin')).toBe(at('2026-11-16T09:00Z'))
    expect(localInstant('2026-11-16t09:00:00-03:30', 'UTC')).toBe(at('2026-11-16T12:30Z'))
    expect(localInstant('2026-03-29T02:30', 'Europe/Berlin')).toBe(at('2026-03-29T01:00Z'))
    expect(localInstant('2026-10-25T02:30', 'Europe/Berlin')).toBe(at('2026-10-25T00:30Z'))
  })

  it.each([
    '2026-02-30T09:00Z',
    '2026-13-01T09:00Z',
    '2026-11-16T24:00Z',
    '2026-11-16T09:60Z',
    '2026-11-16',
    '2026-11-16T09:00+25:00',
    '+010000-01-01T00:00Z',
    '9999-12-31T23:59:59-01:00',
    'tomorrow',
    '',
  ])('%s is no instant', (text) => {
    expect(localInstant(text, 'UTC')).toBeNull()
  })

  it('echoes local times beside their zone and knows its data version', () => {
    expect(formatLocal(at('2026-11-16T08:00Z'), 'Europe/Berlin')).toBe(
      '2026-11-16 09:00 Europe/Berlin',
    )
    expect(formatLocal(at('2026-11-16T08:00:07Z'), 'Asia/Kathmandu')).toBe(
      '2026-11-16 13:45:07 Asia/Kathmandu',
    )
    expect(tzDataVersion()).toMatch(/^\d{4}[a-z]+$/)
  })
})

describe('missed slots', () => {
  const cron = (expr: string, zone = 'UTC') => parseCron(expr, zone).schedule

  it('coalesce into the first one with the count of the others', () => {
    expect(missed(cron('0 * * * *'), at('2026-11-16T08:00Z'), at('2026-11-16T11:30Z'), 0)).toEqual({
      missedCount: 3,
      nextAt: at('2026-11-16T12:00Z'),
    })
    // A slot that falls exactly on now has passed.
    expect(missed(cron('0 * * * *'), at('2026-11-16T08:00Z'), at('2026-11-16T09:00Z'), 0)).toEqual({
      missedCount: 1,
      nextAt: at('2026-11-16T10:00Z'),
    })
    expect(missed(cron('0 9 * * *'), at('2026-11-16T09:00Z'), at('2026-11-16T09:00Z'), 0)).toEqual({
      missedCount: 0,
      nextAt: at('2026-11-17T09:00Z'),
    })
  })

  it('are counted exactly and quickly after years', () => {
    const from = at('2024-01-01T00:00Z')
    const every: Schedule = { kind: 'every', everyMs: 1_000, timezone: 'UTC' }
    expect(missed(every, from + 1_000, at('2034-01-01T00:00:00.500Z'), from)).toEqual({
      missedCount: (at('2034-01-01T00:00Z') - from) / 1_000 - 1,
      nextAt: at('2034-01-01T00:00:01Z'),
    })
    const minutely = cron('* * * * *', 'Europe/Berlin')
    const count = () => missed(minutely, from, from + 366 * 86_400_000, 0).missedCount
    expect(count()).toBe(366 * 1_440)
    expect(cpuMs(count)).toBeLessThan(500)
  })

  it('a late one-off has no further slot', () => {
    const once: Schedule = { kind: 'once', at: 5, timezone: 'UTC' }
    expect(missed(once, 5, 500, 0)).toEqual({ missedCount: 0, nextAt: null })
    expect(next(once, 4)).toEqual([5])
    expect(next(once, 5)).toEqual([])
  })

  it('an interval keeps its grid whenever it is asked', () => {
    const every: Schedule = { kind: 'every', everyMs: 5_400_000, timezone: 'UTC' }
    const anchor = at('2026-11-16T08:00:00.250Z')
    expect(next(every, anchor, { anchor, count: 2 })).toEqual([
      anchor + 5_400_000,
      anchor + 10_800_000,
    ])
    expect(next(every, anchor + 5_400_000 * 7 + 17, { anchor })).toEqual([anchor + 5_400_000 * 8])
    expect(next(every, anchor - 1, { anchor })).toEqual([anchor + 5_400_000])
  })
})

describe('the far future', () => {
  it('ends with the year 9999', () => {
    expect(fires('0 0 1 1 *', '9998-06-01T00:00Z', 5)).toEqual(['9999-01-01T00:00'])
    expect(fires('0 0 1 1 *', '9999-06-01T00:00Z', 5)).toEqual([])
    const every: Schedule = { kind: 'every', everyMs: 86_400_000, timezone: 'UTC' }
    expect(next(every, at('9999-12-30T12:00Z'), { count: 5 })).toHaveLength(1)
  })
})

describe('how often', () => {
  it('counts the busiest local day of the next 366, whatever the day of asking', () => {
    for (const day of ['2026-01-01T00:00Z', '2026-06-15T23:59Z', '2026-10-25T01:00Z']) {
      expect(
        maxFiresPerLocalDay(parseCron('0 9,17 * * 1', 'Europe/Berlin').schedule, at(day)),
      ).toBe(2)
      expect(maxFiresPerLocalDay(parseCron('0 * * * *', 'Europe/Berlin').schedule, at(day))).toBe(
        25,
      )
      expect(maxFiresPerLocalDay(parseCron('0 * * * *').schedule, at(day))).toBe(24)
      expect(maxFiresPerLocalDay(parseCron('*/10 * 25 12 *').schedule, at(day))).toBe(144)
      expect(maxFiresPerLocalDay(parseCron('@every 6h').schedule, at(day))).toBe(4)
    }
  })

  it('knows the smallest gap', () => {
    const gap = (text: string) =>
      minSpacingMs(parseFrequency(text).schedule, at('2026-01-01T00:00Z'))
    expect(gap('*/7 * * * *')).toBe(240_000)
    expect(gap('every 7 minutes')).toBe(420_000)
    expect(gap('59 23 * * 1,2')).toBe(86_400_000)
    expect(gap('once')).toBe(Number.POSITIVE_INFINITY)
  })
})
