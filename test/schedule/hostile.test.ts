import { describe, expect, it } from 'vitest'
import {
  isZone,
  localInstant,
  maxFiresPerLocalDay,
  minSpacingMs,
  next,
  parseCron,
  parseFrequency,
  parsePhrase,
  ScheduleError,
} from '../../packages/schedule/src/index.ts'
import { cpuMs } from '../setup/cpu.ts'

const NOW = Date.parse('2026-11-16T09:20:00Z')
/** The promise is 20 ms; what grows with its input takes seconds and more here. */
const BOUND_MS = 500

function timed(run: () => unknown): number {
  return cpuMs(() => {
    try {
      run()
    } catch (error) {
      if (!(error instanceof ScheduleError)) throw error
    }
  })
}

const LONG = [
  'every '.repeat(1_000_000),
  `${'9 '.repeat(500_000)}am`,
  `every monday${' and monday'.repeat(17)}`,
  `every ${'1,'.repeat(90)}`,
  '1st and '.repeat(24),
  `daily at ${'9am and '.repeat(22)}9am`,
  '.'.repeat(200),
  `a.m.${'a'.repeat(190)}`,
  ' '.repeat(2_000_000),
  '-'.repeat(200),
  '\u0000\ud800'.repeat(90),
  '1'.repeat(200),
  `@every ${'1h'.repeat(80)}`,
  `@every ${'9'.repeat(180)}s`,
]

const RARE = [
  '0 0 * 2 5#5',
  '0 0 29 2 *',
  '59 23 31W 12 *',
  '0 0 L-30 * *',
  '* * 29 2 *',
  Array.from({ length: 21 }, (_, i) => `* * * * ${i % 7}`).join(' | '),
  Array.from({ length: 18 }, (_, i) => `${i} ${i} 29 2 *`).join(' | '),
  '* * * * *',
]

describe('hostile input', () => {
  it.each(LONG.map((text) => [text.slice(0, 24), text]))('%j is answered quickly', (_, text) => {
    expect(timed(() => parseFrequency(text))).toBeLessThan(BOUND_MS)
    expect(timed(() => parsePhrase(text, { now: NOW }))).toBeLessThan(BOUND_MS)
    expect(timed(() => parseCron(text))).toBeLessThan(BOUND_MS)
    expect(timed(() => localInstant(text, 'UTC'))).toBeLessThan(BOUND_MS)
    expect(timed(() => isZone(text))).toBeLessThan(BOUND_MS)
  })

  it.each(RARE)('%s is evaluated quickly, a hundred times and for a year', (expr) => {
    const { schedule } = parseCron(expr, 'Africa/Casablanca')
    expect(timed(() => next(schedule, NOW, { count: 100 }))).toBeLessThan(BOUND_MS)
    expect(timed(() => maxFiresPerLocalDay(schedule, NOW))).toBeLessThan(BOUND_MS)
    expect(timed(() => minSpacingMs(schedule, NOW))).toBeLessThan(BOUND_MS)
  })

  it('survives instants at the edges of time', () => {
    const { schedule } = parseCron('0 9 * * *', 'America/New_York')
    for (const after of [-8.64e15, -1, 0, 253_402_300_799_999, 8.64e15]) {
      for (const at of next(schedule, after, { count: 2 })) expect(at).toBeGreaterThan(after)
    }
  })
})
