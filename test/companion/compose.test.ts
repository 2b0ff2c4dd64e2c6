/** What an intent that came true is told as: composed from fact and wish, never the instruction itself. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { composed } from '../../packages/companion/src/compose.ts'

const PRICE = { ticker: 'NVDA', operator: '<', value: 130, price: 128 }

function told(action_context: string, trigger_type = 'cron', trigger_data: object | null = null) {
  return composed({
    intent_id: 'i',
    intent_name: 'n',
    trigger_type,
    action_context,
    trigger_data: trigger_data as Record<string, unknown> | null,
  })
}

describe('the fact', () => {
  it.each([
    ['price', PRICE, 'NVDA is at 128, below the 130 you named.'],
    ['price', { ...PRICE, operator: '!=' }, 'NVDA is at 128.'],
    ['silence', { silent_hours: 50, threshold_hours: 48 }, 'I have not heard from you for 2 days.'],
    ['silence', { silent_hours: 0.5 }, 'I have not heard from you for 30 minutes.'],
    [
      'news',
      { headline: 'Fusion works', url: 'https://n.example/1', keyword: 'fusion' },
      'In the news, on fusion: “Fusion works” (https://n.example/1).',
    ],
    [
      'event',
      { name: 'deploy', text: 'v2', keyword: 'deploy' },
      'It has happened, on deploy: “deploy”, “v2”.',
    ],
    ['calendar', { title: 'Standup', minutes_left: 12 }, '“Standup” begins in 12 minutes.'],
    ['calendar', { title: 'Standup', minutes_left: 0 }, '“Standup” begins now.'],
  ])('of %s', (type, data, sentence) => {
    expect(told('Say hello, you two.', type, data)).toBe(`${sentence} Say hello, you two.`)
  })
})

describe('the wish', () => {
  it.each([
    ['Tell the user that the shop opens', 'The shop opens.'],
    ['Tell the user about the weather', 'It is about the weather.'],
    ['Remind the user to drink water', 'Remember to drink water.'],
    ['Ask the user how the user slept', 'I would like to know how you slept.'],
    ['ask the user to rate the day', 'Please rate the day.'],
    ['Check in with the user.', 'All well?'],
    ["Let the user know that the user's order is here", 'Your order is here.'],
    ['You wanted to stretch.', 'You wanted to stretch.'],
    ['stretch', 'It is time for what you had in mind: stretch.'],
  ])('%s', (context, sentence) => {
    expect(told(context)).toBe(sentence)
  })

  it('is left out where it only repeats the condition', () => {
    for (const context of [
      'Tell the user that NVDA is below 130',
      'NVDA is below 130.',
      'NVDA < 130',
    ])
      expect(told(context, 'price', PRICE)).toMatch(/^NVDA is at 128, below the 130 you named\./)
    expect(told('Tell the user that NVDA is below 130', 'price', PRICE)).toBe(
      'NVDA is at 128, below the 130 you named.',
    )
    expect(told('NVDA is below 130, so buy', 'price', PRICE)).toContain('so buy')
  })

  it('is never blank, and never speaks of the user', () => {
    const whom = fc.constantFrom('tell', 'remind', 'ask', 'warn', 'inform')
    fc.assert(
      fc.property(whom, fc.stringMatching(/^[a-z]{1,8}( [a-z]{1,8}){0,4}$/), (verb, rest) => {
        const said = told(`${verb} the user that ${rest}`)
        expect(said).not.toMatch(/the user/i)
        expect(said.trim()).not.toBe('')
      }),
    )
  })
})
