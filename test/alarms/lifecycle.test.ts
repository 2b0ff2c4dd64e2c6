/** What becomes of an alarm, without a store: every cell of the table, the ladder, coalescing, the next times. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { retryAfterOf } from '../../src/core/calls/signature.ts'
import { Refusal } from '../../src/core/errors.ts'
import { planAlarm } from '../../src/features/alarms/draft.ts'
import {
  ALARM_STATUSES,
  type AlarmOutcome,
  type AlarmState,
  type AlarmStatus,
  type AlarmTerms,
  type Attempt,
  cancelledAlarm,
  LIFECYCLE,
  missedBy,
  nextFires,
  settleAlarm,
} from '../../src/features/alarms/rules.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const later = (ms: number) => new Date(NOW.getTime() + ms)
const TAKEN: Attempt = { taken: true }
const failed = (more: Partial<Extract<Attempt, { taken: false }>> = {}): Attempt => ({
  taken: false,
  error: 'HTTP 500',
  terminal: false,
  retryAfter: null,
  ...more,
})

function alarm(more: Partial<AlarmTerms & AlarmState> = {}): AlarmTerms & AlarmState {
  const cron = more.kind === 'cron'
  return {
    kind: 'once',
    cron_expr: cron ? '0 * * * *' : '',
    timezone: 'UTC',
    anchor_at: later(-3_600_000),
    max_failures: 5,
    status: 'active',
    scheduled_for: NOW,
    missed_count: 0,
    attempt: 1,
    delivery_id: '0195f5a0-0000-7000-8000-000000000001',
    failure_count: 0,
    last_error: '',
    next_fire_at: NOW,
    due_at: NOW,
    last_fired_at: null,
    ...more,
  }
}

describe('the table', () => {
  const outcomes: AlarmOutcome[] = ['taken', 'failed', 'exhausted', 'cancelled']
  it('has a move for every status, outcome and kind, and none out of an end', () => {
    for (const status of ALARM_STATUSES) {
      for (const outcome of outcomes) {
        for (const kind of ['once', 'cron'] as const) {
          const move = LIFECYCLE[status][outcome][kind]
          if (status === 'active') expect(move).not.toBe('stay')
          else expect(move).toBe('stay')
        }
      }
    }
  })

  const ends: AlarmStatus[] = ['fired', 'cancelled', 'failed']
  it.each(ends)('rule 19: whatever comes late, %s stays as it is', (status) => {
    for (const kind of ['once', 'cron'] as const) {
      const ended = alarm({ kind, status, due_at: null })
      for (const attempt of [TAKEN, failed(), failed({ terminal: true })]) {
        expect(settleAlarm(ended, attempt, later(9))).toMatchObject({ status, due_at: null })
        expect(settleAlarm(ended, attempt, later(9)).failure_count).toBe(0)
      }
      expect(cancelledAlarm(ended).status).toBe(status)
    }
  })

  it('a once that was taken is fired', () => {
    expect(settleAlarm(alarm(), TAKEN, later(5))).toMatchObject({
      status: 'fired',
      due_at: null,
      last_fired_at: later(5),
      failure_count: 0,
    })
  })

  it('a cron that was taken goes on to its next slot, with a delivery id of its own', () => {
    const before = alarm({ kind: 'cron', failure_count: 3, attempt: 4 })
    const after = settleAlarm(before, TAKEN, later(5))
    expect(after).toMatchObject({
      status: 'active',
      scheduled_for: new Date('2026-03-01T13:00:00Z'),
      next_fire_at: new Date('2026-03-01T13:00:00Z'),
      due_at: new Date('2026-03-01T13:00:00Z'),
      failure_count: 0,
      attempt: 0,
      missed_count: 0,
      last_fired_at: later(5),
    })
    expect(after.delivery_id).not.toBe(before.delivery_id)
  })

  it('rule 18: max_failures is the total of attempts; then failed (once) or the next slot (cron)', () => {
    const last = { failure_count: 4 }
    expect(settleAlarm(alarm(last), failed(), NOW)).toMatchObject({
      status: 'failed',
      due_at: null,
      failure_count: 5,
      last_error: 'HTTP 500',
    })
    expect(settleAlarm(alarm({ ...last, kind: 'cron' }), failed(), NOW)).toMatchObject({
      status: 'active',
      failure_count: 0,
      last_error: 'HTTP 500',
      last_fired_at: null,
      due_at: new Date('2026-03-01T13:00:00Z'),
    })
    expect(settleAlarm(alarm({ max_failures: 1 }), failed(), NOW).status).toBe('failed')
  })

  it('what is hopeless is given up at once', () => {
    expect(settleAlarm(alarm(), failed({ terminal: true }), NOW).status).toBe('failed')
    const cron = settleAlarm(alarm({ kind: 'cron' }), failed({ terminal: true }), NOW)
    expect(cron).toMatchObject({ status: 'active', scheduled_for: later(3_600_000) })
  })

  it('rule 21: a cron that has no further slot ends as fired', () => {
    const at = new Date('9999-12-31T23:00:00Z')
    const last = alarm({ kind: 'cron', scheduled_for: at, next_fire_at: at })
    expect(settleAlarm(last, TAKEN, new Date('9999-12-31T23:30:00Z'))).toMatchObject({
      status: 'fired',
      due_at: null,
    })
  })

  it('a schedule that can no longer be read fails its alarm, not the batch it is in', () => {
    const odd = alarm({ kind: 'cron', timezone: 'Mars/Olympus' })
    expect(settleAlarm(odd, TAKEN, NOW)).toMatchObject({ status: 'failed', due_at: null })
    expect(missedBy(odd, NOW, later(1))).toBe(0)
    expect(nextFires(odd, NOW)).toEqual([NOW])
  })
})

describe('the ladder', () => {
  it('rule 18: 30, 60, 120 … s, at most 15 min; the slot and its delivery id stay', () => {
    const waits = Array.from({ length: 8 }, (_, k) => {
      const state = settleAlarm(alarm({ failure_count: k, max_failures: 99 }), failed(), NOW)
      expect(state).toMatchObject({ status: 'active', scheduled_for: NOW, failure_count: k + 1 })
      expect(state.delivery_id).toBe(alarm().delivery_id)
      expect(state.next_fire_at).toEqual(state.due_at)
      return (state.next_fire_at.getTime() - NOW.getTime()) / 1000
    })
    expect(waits).toEqual([30, 60, 120, 240, 480, 900, 900, 900])
  })

  it.each([
    ['sooner than the ladder', { afterMs: 10_000 }, 30],
    ['later than the ladder', { afterMs: 120_000 }, 120],
    ['a date', { at: later(200_000) }, 200],
    ['a date that has passed', { at: later(-200_000) }, 30],
    ['up to one hour', { afterMs: 99_999_999_000 }, 3600],
  ])('rule 21: Retry-After is honoured: %s', (_, retryAfter, seconds) => {
    const state = settleAlarm(alarm(), failed({ retryAfter }), NOW)
    expect(state.due_at).toEqual(later(seconds * 1000))
  })

  it('reads Retry-After as seconds or as an HTTP date, and nothing else', () => {
    expect(retryAfterOf('120')).toEqual({ afterMs: 120_000 })
    expect(retryAfterOf('Sun, 01 Mar 2026 12:00:30 GMT')).toEqual({ at: later(30_000) })
    for (const odd of [undefined, '', '-5', '1.5', 'soon', '2026-03-01', '12:00', '1e3'])
      expect(retryAfterOf(odd)).toBeNull()
  })

  it('keeps at most 2000 characters of an error, and none that the store refuses', () => {
    const text = `${'x'.repeat(1998)}🙂\0\ud800${'y'.repeat(5000)}`
    const { last_error } = settleAlarm(alarm(), failed({ error: text }), NOW)
    expect(last_error.length).toBeLessThanOrEqual(2000)
    expect(last_error).not.toContain('\0')
    expect(/\p{Surrogate}/u.test(last_error)).toBe(false)
  })
})

describe('missed slots', () => {
  it('rule 6: fires once for the first of them, counts the others, goes on strictly after now', () => {
    const slot = new Date('2026-03-01T08:00:00Z')
    const late = alarm({ kind: 'cron', scheduled_for: slot })
    expect(missedBy(late, slot, NOW)).toBe(4)
    const after = settleAlarm(late, TAKEN, NOW)
    expect(after).toMatchObject({
      missed_count: 4,
      scheduled_for: new Date('2026-03-01T13:00:00Z'),
    })
  })

  it('@every keeps the grid of its creation', () => {
    const every = alarm({
      kind: 'cron',
      cron_expr: '@every 7m',
      anchor_at: new Date('2026-03-01T00:00:00Z'),
    })
    const slot = new Date('2026-03-01T00:07:00Z')
    const after = settleAlarm(
      { ...every, scheduled_for: slot },
      TAKEN,
      new Date('2026-03-01T00:30:00Z'),
    )
    expect(after).toMatchObject({
      missed_count: 3,
      scheduled_for: new Date('2026-03-01T00:35:00Z'),
    })
  })

  it('a late once is not missed', () => {
    expect(missedBy(alarm(), NOW, later(86_400_000))).toBe(0)
  })

  it('always goes forward: whatever the delay, the next slot lies after now and on the grid', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 0, max: 10_000_000 }),
        (seconds, delayMs) => {
          const anchor = new Date('2026-03-01T00:00:00Z')
          const slot = new Date(anchor.getTime() + seconds * 1000)
          const now = new Date(slot.getTime() + delayMs)
          const terms = {
            kind: 'cron' as const,
            cron_expr: `@every ${seconds}s`,
            anchor_at: anchor,
          }
          const after = settleAlarm(alarm({ ...terms, scheduled_for: slot }), TAKEN, now)
          const steps = (after.scheduled_for.getTime() - anchor.getTime()) / (seconds * 1000)
          expect(after.scheduled_for.getTime()).toBeGreaterThan(now.getTime())
          expect(steps).toBe(2 + after.missed_count)
        },
      ),
    )
  })
})

describe('what is planned', () => {
  const draft = {
    id: '0195f5a0-0000-7000-8000-000000000001',
    ownerDid: 'did:matrix:ann:0000000000000000',
    userId: 'ann',
    agentId: 'bot',
    timezone: 'Europe/Berlin',
    wakeMessage: 'hello',
  }
  it('reads an instant, a delay, a cron and a phrase', () => {
    const at = later(1)
    expect(planAlarm({ ...draft, timing: { type: 'at', at } }, NOW).nextFireAt).toEqual(at)
    const delay = planAlarm({ ...draft, timing: { type: 'delay', ms: 1000 } }, NOW)
    expect(delay).toMatchObject({ kind: 'once', nextFireAt: later(1000) })
    const cron = planAlarm({ ...draft, timing: { type: 'cron', expr: ' 0 9 * * * ' } }, NOW)
    expect(cron).toMatchObject({ kind: 'cron', cronExpr: '0 9 * * *' })
    expect(cron.nextFireAt).toEqual(new Date('2026-03-02T08:00:00Z'))
    const phrase = planAlarm({ ...draft, timing: { type: 'phrase', text: 'every weekday' } }, NOW)
    expect(phrase).toMatchObject({ cronExpr: '0 9 * * 1-5', notes: ['no hour given: 09:00'] })
  })

  it('refuses with all reasons: the past, never, and what the door found', () => {
    const refusal = (more: object) => {
      try {
        planAlarm({ ...draft, timing: { type: 'at', at: NOW }, ...more }, NOW)
      } catch (error) {
        if (error instanceof Refusal) return error
      }
      throw new Error('it was not refused')
    }
    expect(refusal({ errors: ['agent_id: nobody'] }).errors).toEqual([
      'agent_id: nobody',
      'fire_at: 2026-03-01 13:00 Europe/Berlin is not in the future, now is 2026-03-01 13:00 Europe/Berlin',
    ])
    for (const expr of ['0 0 30 2 *', '* * * * * *', '@every 0s', 'TZ=UTC 0 9 * * *'])
      expect(refusal({ timing: { type: 'cron', expr } }).code).toBe('rule')
    expect(refusal({ timing: { type: 'phrase', text: 'once' } }).code).toBe('rule')
    expect(refusal({ timezone: 'Mars/Olympus' }).errors[0]).toContain('timezone')
  })

  it('a turn may be late: its past instant fires at once', () => {
    const past = { ...draft, timing: { type: 'at' as const, at: later(-1) }, lateIsFine: true }
    expect(planAlarm(past, NOW).nextFireAt).toEqual(later(-1))
  })
})
