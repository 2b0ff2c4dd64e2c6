/** What forms make of the server's errors, and of what was typed. */
import { describe, expect, test } from 'vitest'
import { faultsOf } from '../../packages/console/src/forms/faults.ts'
import { NO_WAITS, nameFor, timeOf, whenOf } from '../../packages/console/src/schedule/draft.ts'
import { isMarked } from '../../packages/console/src/session/marked.ts'

function refused(...errors: string[]): Error {
  return Object.assign(new Error('refused'), { errors })
}

describe('errors', () => {
  test('stand at the field they name, and the rest is told apart', () => {
    const faults = faultsOf(
      refused(
        'body.label: must be at most 200 characters',
        "trigger_schedule.cron required for type 'cron'",
        'body.trigger_condition.keywords[0]: must hold a letter or a digit',
        'agent_id: there is no agent x here',
        '10 runs of this work wait already',
      ),
      ['label', 'cron', 'keywords', 'agent_id'],
    )
    expect(faults.of('label')).toBe('must be at most 200 characters')
    expect(faults.of('cron')).toBe("required for type 'cron'")
    expect(faults.of('keywords')).toBe('must hold a letter or a digit')
    expect(faults.of('agent_id')).toBe('there is no agent x here')
    expect(faults.rest).toEqual(['10 runs of this work wait already'])
  })

  test('several of one field are all told, and none without an error', () => {
    const faults = faultsOf(refused('task: is blank', 'task: is too short'), ['task'])
    expect(faults.of('task')).toBe('is blank; is too short')
    expect(faultsOf(null, ['task'])).toMatchObject({ rest: [] })
  })
})

describe('a schedule', () => {
  test('of a phrase is for once or recurs, as the phrase means', () => {
    expect(timeOf({ kind: 'once' }, ' tomorrow at 9am ')).toEqual({ at: 'tomorrow at 9am' })
    expect(timeOf({ kind: 'cron' }, 'every weekday at 8:30')).toEqual({
      every: 'every weekday at 8:30',
    })
    expect(timeOf({ kind: 'every' }, 'every 6 hours')).toEqual({ every: 'every 6 hours' })
  })

  test('of a condition has its fields, and the typed text where a number is wanted', () => {
    const price = { ...NO_WAITS, ticker: ' NVDA ', value: '129,5' }
    expect(whenOf('price', price)).toEqual({ price: 'NVDA', below: 129.5 })
    expect(whenOf('price', { ...price, side: 'above', value: 'much' })).toEqual({
      ...{ price: 'NVDA', above: 'much' },
    })
    expect(whenOf('news', { ...NO_WAITS, keywords: 'rate cut,, ECB ' })).toEqual({
      news: ['rate cut', 'ECB'],
    })
    expect(whenOf('silence', NO_WAITS)).toEqual({ silent_for: '48 hours' })
    expect(whenOf('calendar', NO_WAITS)).toEqual({ calendar: true, before: '15 minutes' })
  })

  test('is called by its words, and never by a name that another one has', () => {
    expect(nameFor(' Stretch\nyour legs', [])).toBe('Stretch')
    expect(nameFor('Stretch', ['Stretch', 'Stretch 2'])).toBe('Stretch 3')
    expect(nameFor('', [])).toBe('Schedule')
  })
})

test('a message is drawn as Markdown where it holds some', () => {
  for (const text of [
    '| a | b |\n| --- | --- |',
    '**now**',
    '- one\n- two',
    'see [it](https://x.y)',
  ])
    expect(isMarked(text)).toBe(true)
  for (const text of ['You said: “hello”', 'It is 5 - 3 = 2', 'a_b and c|d'])
    expect(isMarked(text)).toBe(false)
})
