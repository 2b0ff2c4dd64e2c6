/** Preferences alone: quiet hours on the wall clock, and the table of verdicts (invariant 11a). */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  counted,
  judgePreferences,
  type Preferences,
  roomFor,
  type Utterance,
  unaskedToday,
} from '../../src/features/people/preferences.ts'
import { quietErrors, quietUntil, WEEKDAYS } from '../../src/features/people/quiet.ts'
import { REASONS } from '../../src/features/sessions/gate.ts'

const NIGHT = [{ from: '22:00', to: '07:30' }]
const NEW_YORK = 'America/New_York'
const at = (text: string) => new Date(text)
const until = (windows: Parameters<typeof quietUntil>[0], zone: string, text: string) =>
  quietUntil(windows, zone, at(text))?.toISOString() ?? null

describe('quiet hours', () => {
  it('begin and end on the wall clock, the end open', () => {
    expect(until(NIGHT, 'UTC', '2026-11-16T21:59:59Z')).toBe(null)
    expect(until(NIGHT, 'UTC', '2026-11-16T22:00:00Z')).toBe('2026-11-17T07:30:00.000Z')
    expect(until(NIGHT, 'UTC', '2026-11-17T07:29:59Z')).toBe('2026-11-17T07:30:00.000Z')
    expect(until(NIGHT, 'UTC', '2026-11-17T07:30:00Z')).toBe(null)
  })

  it('of the night on which the clock is put back last an hour longer, put forward an hour less', () => {
    // 1 November 2026: 22:00 is UTC-4, 07:30 is UTC-5.
    expect(until(NIGHT, NEW_YORK, '2026-11-01T02:00:00Z')).toBe('2026-11-01T12:30:00.000Z')
    expect(until(NIGHT, NEW_YORK, '2026-03-08T03:00:00Z')).toBe('2026-03-08T11:30:00.000Z')
  })

  it('of some weekdays hold where they began; those that touch are one silence', () => {
    const weekend = [{ days: ['sat', 'sun'] as const, from: '00:00', to: '24:00' }]
    // Friday night is open, Saturday and Sunday are one.
    expect(until(weekend, 'UTC', '2026-11-20T23:59:00Z')).toBe(null)
    expect(until(weekend, 'UTC', '2026-11-21T12:00:00Z')).toBe('2026-11-23T00:00:00.000Z')
    const fridays = [{ days: ['fri'] as const, from: '22:00', to: '10:00' }]
    expect(until(fridays, 'UTC', '2026-11-21T09:00:00Z')).toBe('2026-11-21T10:00:00.000Z')
    expect(until(fridays, 'UTC', '2026-11-22T09:00:00Z')).toBe(null)
  })

  it('that never end are refused, and those that begin as they end', () => {
    const [never] = quietErrors([
      { from: '00:00', to: '12:00' },
      { from: '11:00', to: '00:00' },
    ])
    expect(never).toMatch(/never end/)
    expect(quietErrors([{ from: '09:00', to: '09:00' }])[0]).toMatch(/begins and ends at 09:00/)
    expect(quietErrors(NIGHT)).toEqual([])
    expect(quietErrors([])).toEqual([])
  })
})

const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map(([h, m]) => `${String(h).padStart(2, '0')}:${String(m).padStart(2, '0')}`)
const windows = fc
  .array(
    fc.record(
      { days: fc.subarray([...WEEKDAYS], { minLength: 1 }), from: clock, to: clock },
      { requiredKeys: ['from', 'to'] },
    ),
    { maxLength: 4 },
  )
  .filter((each) => quietErrors(each).length === 0)
const instants = fc.date({
  min: new Date('2026-01-01T00:00:00Z'),
  max: new Date('2027-12-31T00:00:00Z'),
  noInvalidDate: true,
})
const zones = fc.constantFrom('UTC', NEW_YORK, 'Europe/Berlin', 'Australia/Lord_Howe')
const people = fc.record({
  timezone: zones,
  quietHours: windows,
  mostUnaskedPerDay: fc.option(fc.integer({ min: 1, max: 5 })),
  pausedUntil: fc.option(instants),
  mutedAgents: fc.subarray(['a', 'b']),
})
const utterances: fc.Arbitrary<Utterance> = fc.record({
  reason: fc.constantFrom(...REASONS),
  agentId: fc.constantFrom('a', 'b'),
  timed: fc.boolean(),
  critical: fc.boolean(),
})
const spoken = (person: Omit<Preferences, 'unasked'>, count: number, now: Date): Preferences => {
  const fresh = { ...person, unasked: { day: null, count: 0 } }
  return { ...fresh, unasked: counted(fresh, count, now) }
}

describe('the verdict', () => {
  it('is that of the table, for every person, message and time', () => {
    fc.assert(
      fc.property(people, fc.nat(8), utterances, instants, (person, count, said, now) => {
        const preferences = spoken(person, count, now)
        const { move } = judgePreferences(preferences, said, now)
        const muted = person.mutedAgents.includes(said.agentId)
        if (said.reason === 'answer') expect(move).toBe('send')
        else if (muted) expect(move).toBe('drop')
        else if (said.critical) expect(move).toBe('send')
        else {
          const paused = person.pausedUntil !== null && person.pausedUntil > now
          const timed = said.timed && said.reason === 'promise'
          const quiet = !timed && quietUntil(person.quietHours, person.timezone, now) !== null
          const full = person.mostUnaskedPerDay !== null && count >= person.mostUnaskedPerDay
          const held = said.reason === 'follow_up' ? 'drop' : 'defer'
          expect(move).toBe(paused || quiet || full ? held : 'send')
        }
      }),
    )
  })

  it('defers until a later instant at which the same is sent, if nothing was said meanwhile', () => {
    fc.assert(
      fc.property(people, fc.nat(8), utterances, instants, (person, count, said, now) => {
        const preferences = spoken(person, count, now)
        let verdict = judgePreferences(preferences, said, now)
        let last = now
        // A pause may end on a day that is full already: then it is deferred once more, until the next.
        for (let i = 0; verdict.move === 'defer' && i < 2; i++) {
          expect(verdict.until.getTime()).toBeGreaterThan(last.getTime())
          last = verdict.until
          verdict = judgePreferences(preferences, said, last)
        }
        expect(verdict.move).not.toBe('defer')
      }),
    )
  })

  it('the first open minute of the next day is the one after a full day, also of a promise for a stated time', () => {
    const person = {
      timezone: NEW_YORK,
      quietHours: NIGHT,
      mostUnaskedPerDay: 2,
      pausedUntil: null,
      mutedAgents: [],
    }
    const now = at('2026-10-31T23:00:00Z')
    const said = { reason: 'promise', agentId: 'a', timed: true, critical: false } as const
    expect(judgePreferences(spoken(person, 2, now), said, now)).toEqual({
      ...{ move: 'defer', rule: 'day_limit', count: 2, max: 2 },
      until: at('2026-11-01T12:30:00Z'),
    })
    expect(judgePreferences(spoken(person, 1, now), said, now)).toEqual({ move: 'send' })
  })

  it('counts by the days of the person', () => {
    const person = {
      timezone: NEW_YORK,
      quietHours: [],
      mostUnaskedPerDay: 5,
      pausedUntil: null,
      mutedAgents: [],
    }
    const evening = at('2026-11-02T03:00:00Z')
    const preferences = spoken(person, 3, evening)
    expect(unaskedToday(preferences, evening)).toBe(3)
    expect(unaskedToday(preferences, at('2026-11-02T04:59:59Z'))).toBe(3)
    expect(unaskedToday(preferences, at('2026-11-02T05:00:00Z'))).toBe(0)
  })

  it('never lets more go out one by one than there is room for', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.nat(4),
        fc.integer({ min: 1, max: 9 }),
        (max, said, more) => {
          const now = at('2026-11-02T12:00:00Z')
          const person = {
            timezone: 'UTC',
            quietHours: [],
            mostUnaskedPerDay: max,
            pausedUntil: null,
            mutedAgents: [],
          }
          const preferences = spoken(person, Math.min(said, max - 1), now)
          const room = roomFor(preferences, more, false, now)
          expect(room).toBeGreaterThanOrEqual(1)
          expect(room).toBeLessThanOrEqual(more)
          expect(unaskedToday(preferences, now) + room).toBeLessThanOrEqual(max)
        },
      ),
    )
  })
})
