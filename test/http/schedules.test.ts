import { afterAll, describe, expect, test } from 'vitest'
import { operations } from '../../src/app/operations.ts'
import { context, door, noDb } from './door.ts'

const NOW = new Date('2030-01-01T12:00:00Z')
const clock = { ...noDb, now: () => NOW, time: async () => NOW.getTime() }
const app = door({ operations, context: context(clock) })
afterAll(() => app.close())

const preview = (payload: object) =>
  app.inject({ method: 'POST', url: '/v1/schedules/preview', payload })
const ok = async (payload: object) => {
  const answer = await preview(payload)
  expect([answer.statusCode, answer.body]).toEqual([200, expect.any(String)])
  return answer.json()
}

describe('POST /v1/schedules/preview', () => {
  test('cron, in its zone, strictly after', async () => {
    const answer = await ok({
      cron_expr: '0 9 * * *',
      timezone: 'Europe/Berlin',
      after: '2030-01-01T09:00:00',
      count: 2,
    })
    expect(answer).toMatchObject({
      kind: 'cron',
      canonical: '0 9 * * *',
      timezone: 'Europe/Berlin',
      description: expect.any(String),
      next: ['2030-01-02T08:00:00.000Z', '2030-01-03T08:00:00.000Z'],
    })
  })

  test('an interval is anchored at now, three times by default', async () => {
    const answer = await ok({ cron_expr: '@every 90m' })
    expect(answer.kind).toBe('every')
    expect(answer.next).toEqual([
      '2030-01-01T13:30:00.000Z',
      '2030-01-01T15:00:00.000Z',
      '2030-01-01T16:30:00.000Z',
    ])
  })

  test('phrases and frequencies', async () => {
    expect((await ok({ frequency: 'daily at 9am' })).canonical).toBe('0 9 * * *')
    const once = await ok({ schedule: 'in 20 minutes' })
    expect(once).toMatchObject({ kind: 'once', next: ['2030-01-01T12:20:00.000Z'] })
    expect(await ok({ frequency: 'once' })).toMatchObject({ kind: 'once', next: [] })
    expect((await ok({ frequency: 'daily' })).notes).toEqual([expect.any(String)])
  })

  test.each<[object, number]>([
    [{}, 422],
    [{ cron_expr: '* * * * *', frequency: 'daily' }, 422],
    [{ cron_expr: '* * * * *', count: 101 }, 422],
    [{ cron_expr: '* * * * *', count: 0 }, 422],
    [{ cron_expr: 5 }, 422],
    [{ cron_expr: '* * * * *', after: 'soon' }, 422],
    [{ cron_expr: '* * * * *', timezone: 'Mars/Olympus' }, 400],
    [{ cron_expr: '0 0 30 2 *' }, 400],
    [{ frequency: 'often' }, 400],
    [{ schedule: '' }, 400],
  ])('%j is %i', async (payload, status) => {
    const answer = await preview(payload)
    expect(answer.statusCode).toBe(status)
    expect(answer.json().errors.length).toBeGreaterThan(0)
  })

  test('says all that is wrong at once', async () => {
    const answer = await preview({ count: 'x', extra: 1 })
    expect(answer.json().errors.sort()).toEqual([
      'body.count: must be a number',
      'body.extra: is not a known field',
      'body: needs exactly one of schedule, cron_expr and frequency',
    ])
  })
})
