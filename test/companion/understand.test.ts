/** Sentences and what they mean to the companion. Pure. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { understand } from '../../packages/companion/src/understand.ts'

const place = { timezone: 'Europe/Berlin', now: new Date('2026-01-01T00:00:00Z') }
const read = (text: string) => understand(text, place)

type Case = [sentence: string, meaning: Partial<Record<string, unknown>>]

describe('wishes', () => {
  test.each<Case>([
    [
      'remind me in 10 seconds to stretch',
      { is: 'remind', phrase: 'in 10 seconds', what: 'stretch' },
    ],
    [
      'Remind me tomorrow at 9 to call Ann.',
      { is: 'remind', phrase: 'tomorrow at 9', what: 'call Ann' },
    ],
    ['please remind me to call mom at 5pm', { is: 'remind', phrase: 'at 5pm', what: 'call mom' }],
    [
      'every weekday at 8:30, plan the day',
      { is: 'remind', phrase: 'every weekday at 8:30', what: 'plan the day' },
    ],
    [
      'remind me every 30 minutes to drink',
      { is: 'remind', phrase: 'every 30 minutes', what: 'drink' },
    ],
    [
      'in two hours check the oven',
      { is: 'remind', phrase: 'in two hours', what: 'check the oven' },
    ],
    ['wake me tomorrow at 7am', { is: 'remind', phrase: 'tomorrow at 7am', what: 'wake up' }],
    ['every Monday at 9 report on my week', { is: 'report', phrase: 'every Monday at 9' }],
    ['report daily at 6pm', { is: 'report', phrase: 'daily at 6pm' }],
    ['send me a weekly report', { is: 'report', phrase: 'weekly' }],
    ['report now', { is: 'report', phrase: null }],
    [
      'tell me when NVDA is below 130',
      { is: 'price', ticker: 'NVDA', operator: '<', value: 130, always: false },
    ],
    [
      'alert me whenever btc-usd rises above $100000.5',
      { is: 'price', ticker: 'BTC-USD', operator: '>', value: 100000.5, always: true },
    ],
    [
      'tell me if msft is at least 400',
      { is: 'price', ticker: 'MSFT', operator: '>=', value: 400 },
    ],
    ['check in if I am silent for two days', { is: 'silence', hours: 48, span: 'two days' }],
    ['check in when I’m quiet for 36 hours', { is: 'silence', hours: 36 }],
    [
      'tell me when the news mentions “fusion” or tokamak',
      { is: 'news', keywords: ['fusion', 'tokamak'] },
    ],
    ['my time zone is Asia/Tokyo', { is: 'zone', zone: 'Asia/Tokyo' }],
    ['stop', { is: 'stop' }],
    ['Stop all!', { is: 'stop_all' }],
    ['cancel 2', { is: 'cancel', number: 2 }],
    ['what is planned?', { is: 'planned' }],
    ["what's planned", { is: 'planned' }],
    ["why didn't you write?", { is: 'why' }],
    ['Why did you write?', { is: 'why' }],
    ['why did you stop writing?', { is: 'why' }],
    ['help', { is: 'help' }],
    ['Good morning!', { is: 'hello' }],
    ['hello there', { is: 'hello' }],
  ])('%s', (sentence, meaning) => {
    expect(read(sentence)).toMatchObject(meaning)
  })
})

describe('what is unclear says what is missing', () => {
  test.each<Case>([
    ['the weather there', { about: 'anything' }],
    ['I will be late', { about: 'anything' }],
    ['remind me to stretch', { about: 'when', what: 'stretch' }],
    ['remind me next week to stretch', { about: 'time' }],
    ['every blue moon water the plants', { about: 'time' }],
    ['every blue moon water the plants at 9', { about: 'time' }],
    ['remind me every day except holidays at 9 to run', { about: 'time' }],
    ['every day until Friday water the plants', { about: 'time' }],
    ['report often', { about: 'time' }],
    ['check in if I am silent for ages', { about: 'time' }],
    ['remind me tomorrow at 9', { about: 'what' }],
    ['my time zone is Mars', { about: 'zone' }],
    ['x'.repeat(600), { about: 'anything' }],
  ])('%s', (sentence, meaning) => {
    expect(read(sentence)).toMatchObject({ is: 'unclear', ...meaning })
  })

  test('a time that is refused comes with phrases that work', () => {
    const meaning = read('remind me next week to stretch')
    const said = 'errors' in meaning ? meaning.errors.join(' ') : ''
    expect(said).toContain('phrases that work')
  })
})

test('takes any text without failing, in bounded time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
      expect(read(text).is).toBeTypeOf('string')
    }),
    { numRuns: 200 },
  )
  const words = fc.constantFrom(
    ...'remind me every in at to report tell when if silent 9 130 monday , : < $'.split(' '),
  )
  fc.assert(
    fc.property(fc.array(words, { maxLength: 60 }), (list) => {
      expect(read(list.join(' ')).is).toBeTypeOf('string')
    }),
    { numRuns: 200 },
  )
})
