/** The report without a store: counting by local day, and two ways to print it that show texts as they are. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { activityReport } from '../../packages/executors/src/report/activity.ts'
import {
  htmlText,
  markdownText,
  printHtml,
  printMarkdown,
} from '../../packages/executors/src/report/document.ts'
import { type Fire, firedOf, KINDS, tally } from '../../packages/executors/src/report/tally.ts'
import { CONTENT_MAX_BYTES } from '../../src/features/work/rules.ts'

const fire = (at: string | Date, more: Partial<Fire> = {}): Fire => ({
  kind: 'alarm',
  trigger: 'a',
  at: new Date(at),
  delivered: 0,
  undelivered: 0,
  lost: 0,
  heldBack: [],
  error: null,
  ...more,
})
const FROM = new Date('2026-03-27T23:00:00Z')
const TO = new Date('2026-03-30T21:59:59Z')

describe('the tally', () => {
  it('goes by local days, also over the night the clocks change', () => {
    const fires = [
      '2026-03-28T22:59:59Z',
      '2026-03-28T23:00:00Z',
      '2026-03-29T21:59:59Z',
      '2026-03-29T22:00:00Z',
    ]
    const { days } = tally(
      fires.map((at) => fire(at)),
      FROM,
      TO,
      'Europe/Berlin',
    )
    expect(days.map(({ day, counts }) => [day, counts.fired.alarm])).toEqual([
      ['2026-03-28', 1],
      ['2026-03-29', 2],
      ['2026-03-30', 1],
    ])
  })

  it('days and triggers each add up to the whole', () => {
    const one = fc.record({
      kind: fc.constantFrom(...KINDS),
      trigger: fc.constantFrom('a', 'b', 'c'),
      at: fc.date({ min: FROM, max: TO, noInvalidDate: true }),
      delivered: fc.nat(3),
      undelivered: fc.nat(3),
      lost: fc.nat(3),
      heldBack: fc.array(fc.constantFrom('hard_cap_reached', 'cooldown_active'), { maxLength: 3 }),
      error: fc.option(fc.string()),
    })
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Chatham')
    fc.assert(
      fc.property(fc.array(one), zone, (fires, timezone) => {
        const { total, days, triggers, rules } = tally(fires, FROM, TO, timezone)
        const sum = (counts: number[]) => counts.reduce((all, each) => all + each, 0)
        expect(firedOf(total)).toBe(fires.length)
        for (const parts of [days, triggers]) {
          expect(sum(parts.map((part) => firedOf(part.counts)))).toBe(fires.length)
          for (const name of ['delivered', 'undelivered', 'lost', 'heldBack', 'failed'] as const)
            expect(sum(parts.map((part) => part.counts[name]))).toBe(total[name])
        }
        expect(sum(rules.map((rule) => rule.times))).toBe(total.heldBack)
      }),
    )
  })
})

describe('printing', () => {
  it('leaves no text that would be markup, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(htmlText(text)).not.toMatch(/[<>"\n]|&(?!amp;|lt;|gt;|quot;)/)
        expect(markdownText(text)).not.toMatch(/(?<!\\)(?:\\\\)*[`*_[\]<>|]|\n/)
      }),
    )
  })

  it.each([
    ['a | b', 'a \\| b'],
    ['1. not a list', '1\\. not a list'],
    ['- nor this', '\\- nor this'],
    ['see https://evil.example', 'see https\\://evil.example'],
    ['two\nlines', 'two lines'],
    ['![x](y)', '!\\[x\\](y)'],
  ])('%j is %j in Markdown', (text, printed) => {
    expect(markdownText(text)).toBe(printed)
  })

  it('the worst of names and errors still fits into an output', () => {
    const bad = '<|*漢'.repeat(1000)
    const many = <T>(make: (n: number) => T) => Array.from({ length: 600 }, (_, n) => make(n))
    const { document } = activityReport({
      from: FROM,
      to: TO,
      timezone: 'UTC',
      task: bad.slice(0, 500),
      fires: many((n) => fire(TO, { trigger: `${n}`, error: bad, heldBack: [`rule${n}`] })),
      names: new Map(many((n) => [`${n}`, bad])),
      checks: many(() => ({ status: 'gate_blocked', name: bad, checks: 1, error: bad })),
      runs: many((n) => ({
        work_id: `${n}`,
        task: bad,
        run_number: 1,
        title: bad,
        status: 'failed',
        error_message: bad,
        created_at: TO,
      })),
      troubled: many(() => ({ name: bad, status: 'failed', failure_count: 1, last_error: bad })),
      upcoming: many(() => ({ kind: 'alarm' as const, name: bad, due_at: TO })).slice(0, 20),
      cut: true,
    })
    const printed = printMarkdown(document)
    expect(Buffer.byteLength(printed)).toBeLessThan(CONTENT_MAX_BYTES)
    expect(printed).toContain('the least there was')
    expect(printHtml(document)).not.toContain('<|')
  })
})
