/** What forms make of the server's errors, and of what was typed. */
import { describe, expect, test } from 'vitest'
import { faultsOf } from '../../packages/console/src/forms/faults.ts'
import { conditionOf, NO_WAITS, scheduleOf } from '../../packages/console/src/intents/draft.ts'
import { seenWords, waitsFor } from '../../packages/console/src/intents/shapes.ts'

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

describe('an intent', () => {
  const preview = { description: '', timezone: 'UTC' }

  test('of a phrase is of the type that the phrase means', () => {
    const next = ['2030-01-01T00:00:00.000Z', '2030-01-01T00:15:00.000Z']
    expect(scheduleOf({ ...preview, kind: 'every', canonical: '@every 15m', next })).toEqual({
      trigger_type: 'interval',
      trigger_schedule: { interval_minutes: 15 },
    })
    expect(scheduleOf({ ...preview, kind: 'cron', canonical: '30 8 * * 1-5', next })).toEqual({
      trigger_type: 'cron',
      trigger_schedule: { cron: '30 8 * * 1-5' },
    })
    const once = { ...preview, kind: 'once' as const, canonical: next[0] ?? '' }
    expect(scheduleOf({ ...once, next: next.slice(0, 1) })).toEqual({
      trigger_type: 'once',
      trigger_schedule: { datetime: next[0] },
    })
  })

  test('of a condition has its fields, and no number where none was typed', () => {
    const price = { ...NO_WAITS, ticker: ' NVDA ', value: '129,5' }
    expect(conditionOf('price', price)).toEqual({ ticker: 'NVDA', operator: '<', value: 129.5 })
    expect(conditionOf('price', { ...price, value: 'much' })).toMatchObject({ value: undefined })
    expect(conditionOf('news', { ...NO_WAITS, keywords: 'rate cut,, ECB ' })).toEqual({
      keywords: ['rate cut', 'ECB'],
    })
  })

  test('is told in words, and so is what a look saw', () => {
    const base = { trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 } }
    const intent = { ...base, trigger_type: 'price', user_id: 'ann' } as never
    expect(waitsFor(intent)).toBe('when NVDA < 130')
    expect(seenWords({ reason: 'stale', price: 131, ticker: 'NVDA' })).toBe(
      'what is known of it is too old · price 131 · ticker NVDA',
    )
    for (const odd of [null, 7, 'text', []]) expect(seenWords(odd)).toBe('')
  })
})
