/** What becomes of work, without a store. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  afterRun,
  changeWork,
  frequencyWords,
  nextRuns,
  notifySession,
  planWork,
  takeSlot,
  type WorkPlan,
  type WorkSchedule,
} from '../../src/features/work/rules.ts'

const NOW = new Date('2026-03-02T10:00:00Z')
const at = (text: string) => new Date(text)

function plan(frequency: string, timezone = 'UTC', now = NOW): WorkPlan {
  const errors: string[] = []
  const made = planWork({ frequency, timezone }, now, errors)
  if (made === null) throw new Error(errors.join('; '))
  return made
}

function recurring(frequency: string, timezone = 'UTC'): WorkSchedule & { frequency: string } {
  return { ...plan(frequency, timezone), scheduled_for: null }
}

describe('the plan', () => {
  it('rule 31: once has no schedule, a recurring one waits for its first time', () => {
    expect(plan('once')).toMatchObject({
      is_active: false,
      next_run_at: null,
      frequency_cron: null,
    })
    expect(plan(' ONCE ')).toMatchObject({ frequency: 'once', frequency_cron: null })
    expect(plan('daily at 9am')).toMatchObject({
      frequency: 'daily at 9am',
      frequency_cron: '0 9 * * *',
      is_active: true,
      next_run_at: at('2026-03-03T09:00:00Z'),
    })
  })

  it('an interval that is no cron is kept as one, anchored at creation', () => {
    expect(plan('every 45 minutes')).toMatchObject({
      frequency_cron: '@every 45m',
      next_run_at: at('2026-03-02T10:45:00Z'),
    })
  })

  it('refuses unknown zones and what cannot be said exactly', () => {
    const errors: string[] = []
    expect(planWork({ frequency: 'daily', timezone: 'Mars/Base' }, NOW, errors)).toBeNull()
    expect(planWork({ frequency: 'often', timezone: 'UTC' }, NOW, errors)).toBeNull()
    expect(errors[0]).toContain('timezone: "Mars/Base" is not an IANA time zone')
    expect(errors[1]).toContain('frequency: ')
  })
})

describe('the schedule goes on', () => {
  it('rule 6: the slot is nominal, what passed is counted, the next is strictly after now', () => {
    const work = recurring('every hour')
    const taken = takeSlot(work, at('2026-03-02T14:00:00Z'))
    expect(taken).toEqual({ nextRunAt: at('2026-03-02T15:00:00Z'), missedCount: 3 })
  })

  it('times that pass during a run go into it', () => {
    const work = recurring('every hour')
    expect(afterRun(work, at('2026-03-02T10:59:59Z'))).toEqual({
      nextRunAt: work.next_run_at,
      missedCount: 0,
    })
    expect(afterRun(work, at('2026-03-02T12:30:00Z'))).toEqual({
      nextRunAt: at('2026-03-02T13:00:00Z'),
      missedCount: 2,
    })
  })

  it('a work that was paused while it ran stays paused', () => {
    const work = { ...recurring('every hour'), is_active: false, next_run_at: null }
    expect(afterRun(work, NOW)).toEqual({ nextRunAt: null, missedCount: 0 })
  })

  it('a schedule that can no longer be read stops instead of failing its batch', () => {
    const broken = { ...recurring('every hour'), timezone: 'Gone/Zone' }
    expect(takeSlot(broken, NOW).nextRunAt).toBeNull()
    expect(frequencyWords(broken)).not.toBe('')
    expect(nextRuns(broken, NOW)).toHaveLength(1)
  })

  it('never early, never twice: for any interval and any delay the next lies after now and on the grid', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 0, max: 1e9 }),
        (s, late) => {
          const work = recurring(`@every ${s}s`)
          const slot = work.next_run_at?.getTime() ?? 0
          const now = new Date(slot + late)
          const { nextRunAt, missedCount } = takeSlot(work, now)
          const next = nextRunAt?.getTime() ?? 0
          expect(next).toBeGreaterThan(now.getTime())
          expect(next - now.getTime()).toBeLessThanOrEqual(s * 1000)
          expect(next).toBe(slot + (missedCount + 1) * s * 1000)
        },
      ),
    )
  })
})

describe('changes', () => {
  const change = (work: WorkSchedule & { frequency: string }, to: object, now = NOW) => {
    const errors: string[] = []
    return { state: changeWork(work, to, now, errors), errors }
  }

  it('rule 31: pause, then resume with a time that is still to come', () => {
    const work = recurring('daily at 9am')
    const paused = change(work, { is_active: false }).state
    expect(paused).toMatchObject({
      is_active: false,
      next_run_at: null,
      frequency_cron: '0 9 * * *',
    })
    const later = at('2026-03-10T12:00:00Z')
    const resumed = change({ ...work, ...paused }, { is_active: true }, later).state
    expect(resumed).toMatchObject({ is_active: true, next_run_at: at('2026-03-11T09:00:00Z') })
  })

  it('an interval keeps its grid over a pause', () => {
    const work = { ...recurring('every 45 minutes'), is_active: false, next_run_at: null }
    const { state } = change(work, { is_active: true }, at('2026-03-02T11:00:00Z'))
    expect(state?.next_run_at).toEqual(at('2026-03-02T11:30:00Z'))
  })

  it('resuming what runs, or pausing what rests, changes nothing', () => {
    const work = recurring('daily at 9am')
    expect(change(work, { is_active: true }).state).toMatchObject({ next_run_at: work.next_run_at })
    expect(change(work, {}).state).toMatchObject({ next_run_at: work.next_run_at, is_active: true })
  })

  it('rule 31: to once deactivates; back to recurring activates; paused stays paused', () => {
    const work = recurring('daily at 9am')
    const once = change(work, { frequency: 'once' }).state
    expect(once).toMatchObject({ is_active: false, next_run_at: null, frequency_cron: null })
    const back = change({ ...work, ...once }, { frequency: 'weekly on Monday' }).state
    expect(back).toMatchObject({ is_active: true, next_run_at: at('2026-03-09T09:00:00Z') })
    const rest = change({ ...work, is_active: false, next_run_at: null }, { frequency: 'hourly' })
    expect(rest.state).toMatchObject({ is_active: false, next_run_at: null })
  })

  it('another zone reads the same words there', () => {
    const { state } = change(recurring('daily at 9am'), { timezone: 'America/New_York' })
    expect(state?.next_run_at).toEqual(at('2026-03-02T14:00:00Z'))
  })

  it('once cannot be resumed: by its state a conflict, by the request a broken rule', () => {
    const once = { ...plan('once'), scheduled_for: null }
    expect(() => change(once, { is_active: true })).toThrow(/runs once/)
    const both = change(recurring('hourly'), { frequency: 'once', is_active: true })
    expect(both.state).toBeNull()
    expect(both.errors[0]).toContain('is_active: ')
  })

  it('a slot that was taken is never due again, whatever the clock says', () => {
    const work = { ...recurring('hourly'), scheduled_for: at('2026-03-02T12:00:00Z') }
    const { state } = change({ ...work, is_active: false }, { is_active: true })
    expect(state?.next_run_at).toEqual(at('2026-03-02T13:00:00Z'))
  })
})

describe('notices', () => {
  it('only a session of the same user is told', () => {
    expect(notifySession({ notify_session: 'ann:bot:t' }, 'ann')?.key).toBe('ann:bot:t')
    for (const value of ['bob:bot:t', 'ann:bot', 7, null, {}])
      expect(notifySession({ notify_session: value }, 'ann')).toBeNull()
    expect(notifySession({}, 'ann')).toBeNull()
  })
})
