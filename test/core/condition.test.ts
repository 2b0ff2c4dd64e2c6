/** Conditions and words, as pure functions: every operator, every edge, and a model of the crossing. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Fact,
  holdsPhrase,
  indexFacts,
  judgeCondition,
  type Memory,
  matchFacts,
  watchesOf,
  wordsOf,
} from '../../src/features/intents/condition.ts'
import { OPERATORS, type TriggerCondition } from '../../src/features/intents/rules.ts'
import { newsSignal, priceSignal } from '../../src/features/intents/signal.ts'

const NOW = new Date('2026-01-01T12:00:00Z')
const MINUTE = 60_000
const UNSEEN: Memory = { was_met: false, seen_at: null, last_executed: null, fact: null }
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * MINUTE)

function price(condition: TriggerCondition, value: number, memory = UNSEEN, at = NOW) {
  const terms = { trigger_type: 'price' as const, trigger_condition: { ticker: 'X', ...condition } }
  return judgeCondition(terms, memory, { of: 'price', newest: { price: value, at } }, NOW)
}

describe('prices', () => {
  it('rule 29: six operators, exact at the value', () => {
    const table = OPERATORS.map((operator) =>
      [9.99, 10, 10.01].map((seen) => price({ operator, value: 10 }, seen).fires),
    )
    expect(table).toEqual([
      [true, false, false],
      [true, true, false],
      [false, false, true],
      [false, true, true],
      [false, true, false],
      [true, false, true],
    ])
  })

  it('is fresh up to and including its limit, 60 minutes if none is said', () => {
    const below = { operator: '<', value: 10 } as const
    expect(price(below, 1, UNSEEN, ago(60)).fires).toBe(true)
    expect(price(below, 1, UNSEEN, ago(60.01))).toMatchObject({ fires: false, reason: 'stale' })
    expect(price({ ...below, max_age_minutes: 5 }, 1, UNSEEN, ago(5.01)).reason).toBe('stale')
  })

  it('fires when and only when it became true since it last fired or was last false (model)', () => {
    const step = fc.record({
      price: fc.integer({ min: 8, max: 12 }),
      stale: fc.boolean(),
      minutes: fc.integer({ min: 0, max: 30 }),
    })
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.option(fc.integer({ min: 1, max: 40 })),
        (steps, cooldown) => {
          let memory = UNSEEN
          let minute = 0
          // The model: armed, or since when it has been firing.
          let armed = true
          let firedAt = Number.NEGATIVE_INFINITY
          for (const { price: seen, stale, minutes } of steps) {
            minute += minutes
            const now = new Date(NOW.getTime() + minute * MINUTE)
            const at = stale ? new Date(now.getTime() - 61 * MINUTE) : now
            const trigger_condition = {
              ticker: 'X',
              operator: '<',
              value: 10,
              ...(cooldown === null ? {} : { cooldown_minutes: cooldown }),
            } as const
            const judged = judgeCondition(
              { trigger_type: 'price', trigger_condition },
              memory,
              { of: 'price', newest: { price: seen, at } },
              now,
            )
            const expected =
              !stale && seen < 10 && (armed || (cooldown !== null && minute - firedAt >= cooldown))
            expect(judged.fires).toBe(expected)
            if (!stale) armed = seen >= 10
            if (expected) firedAt = minute
            memory = {
              ...memory,
              was_met: judged.wasMet,
              seen_at: judged.seenAt,
              last_executed: judged.fires ? now : memory.last_executed,
            }
          }
        },
      ),
    )
  })
})

describe('silence', () => {
  const judge = (lastUserAt: Date | null, memory = UNSEEN) =>
    judgeCondition(
      { trigger_type: 'silence', trigger_condition: { threshold_hours: 2 } },
      memory,
      { of: 'silence', lastUserAt },
      NOW,
    )

  it('is true from the threshold on, and says when it can be next', () => {
    expect(judge(ago(120)).fires).toBe(true)
    expect(judge(ago(119))).toMatchObject({ reason: 'false', lookAt: ago(-1) })
    expect(judge(null)).toMatchObject({ reason: 'unknown', lookAt: ago(-120) })
  })

  it('a word since the last fire makes it new, also where nobody looked in between', () => {
    const fired = { ...UNSEEN, was_met: true, last_executed: ago(300) }
    expect(judge(ago(301), fired).reason).toBe('still_true')
    expect(judge(ago(299), fired).fires).toBe(true)
  })
})

describe('words', () => {
  it('are whole, case-folded and Unicode', () => {
    const holds = (text: string, keyword: string) => holdsPhrase(wordsOf(text), wordsOf(keyword))
    for (const [text, keyword] of [
      ['Apple’s new iPhone', 'APPLE'],
      ['A surprise rate-cut today', 'Rate  Cut'],
      ['STRASSE gesperrt', 'straße'],
      ['ΟΔΟΣ', 'οδός'.normalize('NFD').replace(/\u0301/g, '')],
      ['日本銀行が利上げ', '利上げ'],
      ['price: $NVDA!', 'nvda'],
      ['Ｎｖｉｄｉａ', 'nvidia'],
      ['Cafe\u0301 closed', 'café'],
    ] as const)
      expect(holds(text, keyword), `${keyword} in ${text}`).toBe(true)
    for (const [text, keyword] of [
      ['pineapple', 'apple'],
      ['rate will be cut', 'rate cut'],
      ['cut rate', 'rate cut'],
      ['Ελλάδα', 'λλ'],
      ['anything', '!!!'],
    ] as const)
      expect(holds(text, keyword), `${keyword} in ${text}`).toBe(false)
  })

  it('every matching text has the first word of a keyword: the watches lose nothing (property)', () => {
    const word = fc.stringMatching(/^[a-cé日ß]{1,3}$/u)
    const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(' '))
    fc.assert(
      fc.property(text, fc.array(word, { minLength: 1, maxLength: 3 }), (headline, keyword) => {
        const condition = { keywords: [keyword.join('-')] }
        const fact: Fact = { key: 'k', at: NOW, texts: [wordsOf(headline)], shown: {} }
        const found = matchFacts(condition, indexFacts([fact]), NOW).length > 0
        const watches = watchesOf({ trigger_type: 'news', trigger_condition: condition })
        const reached = watches.some(({ key }) => wordsOf(headline).includes(key))
        expect(found).toBe(holdsPhrase(wordsOf(headline), wordsOf(keyword.join(' '))))
        if (found) expect(reached).toBe(true)
      }),
    )
  })
})

describe('facts', () => {
  it('one that did not get through lets the others go first', () => {
    const fact = (key: string, minutes: number): Fact => ({
      key,
      at: ago(minutes),
      texts: [],
      shown: { key },
    })
    const unused = [fact('b', 1), fact('a', 2)].map((each) => ({ fact: each, keyword: 'k' }))
    const judge = (memory: Memory) =>
      judgeCondition(
        { trigger_type: 'news', trigger_condition: {} },
        memory,
        { of: 'facts', unused },
        NOW,
      ).fact
    expect(judge(UNSEEN)).toBe('a')
    expect(judge({ ...UNSEEN, fact: 'a' })).toBe('b')
  })

  it('are the same when told again: a headline by its address or its words, a price by ticker, instant and number', () => {
    const news = (headline: string, url?: string) =>
      newsSignal({ headline, ...(url ? { url } : {}) }, NOW, null).fact
    expect(news('A b')).toBe(news('a B'))
    expect(news('A', 'https://x.test/1')).toBe(news('B', 'https://x.test/1'))
    expect(news('A', 'https://x.test/1')).not.toBe(news('A', 'https://x.test/2'))
    const told = (value: number, at = NOW) =>
      priceSignal({ ticker: ' nvda', price: value }, at, null).fact
    expect(told(1)).toBe(told(1))
    expect(told(1)).not.toBe(told(2))
    expect(told(1)).not.toBe(told(1, ago(1)))
  })
})
