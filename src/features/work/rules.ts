/**
 * Work: a task with a frequency. Pure: what was asked for, the row in hand and the database's time go in;
 * what is to be written comes out. Status lives on outputs alone; the schedule goes on whatever a run came to.
 */

import {
  type CatchUpPlan,
  type CatchUpTerms,
  catchUp,
} from '../../../packages/schedule/src/catch-up.ts'
import {
  cronSchedule,
  isZone,
  missed,
  nextTimes,
  nextUnfired,
  type Parsed,
  parsedOf,
  parseFrequency,
  ScheduleError,
  type Spread,
  spreadOver,
  zoneError,
} from '../../../packages/schedule/src/index.ts'
import { Refusal } from '../../core/errors.ts'
import { parseSessionKey, type SessionRef } from '../../core/session.ts'

export const OUTPUT_STATUSES = ['pending', 'running', 'completed', 'failed'] as const

export const WORK_TIMEOUT_MS = 300_000
export const TITLE_MAX = 256
export const CONTENT_MAX_BYTES = 256 * 1024
export const METADATA_MAX_BYTES = 64 * 1024
export const NOTE_MAX = 200
export const ERROR_MAX = 2000
/** Runs of one work that may wait at once. */
export const WAITING_MAX = 100
export const WAIT_MAX_SECONDS = 60

/** What a row says of its schedule, under the names of its columns. */
export interface WorkSchedule extends CatchUpTerms {
  /** A cron expression or `@every …`; null for "once". */
  readonly frequency_cron: string | null
  readonly timezone: string
  readonly anchor_at: Date
  readonly is_active: boolean
  readonly next_run_at: Date | null
  /** The newest slot that was taken. */
  readonly scheduled_for: Date | null
  /** Of one that follows its person: what its clock showed at the slot that fired last. */
  readonly fired_local?: string | null
}

/** What a plan, a change or a settle writes of it. */
export type ScheduleState = Pick<
  WorkSchedule,
  'frequency_cron' | 'timezone' | 'anchor_at' | 'is_active' | 'next_run_at'
> & { readonly frequency: string }

export interface WorkPlan extends ScheduleState {
  /** Defaults that were assumed, in words. */
  readonly notes: readonly string[]
}

/** Reads a frequency as the preview does. What is wrong with it goes to `errors`, and null comes back. */
export function planWork(
  asked: {
    readonly frequency: string
    readonly timezone: string
    readonly spread?: Spread | null | undefined
  },
  now: Date,
  errors: string[],
): WorkPlan | null {
  const { frequency, timezone } = asked
  if (!isZone(timezone)) {
    errors.push(zoneError(timezone))
    return null
  }
  try {
    const read = parseFrequency(frequency, timezone)
    const parsed = asked.spread ? spreadOver(read, asked.spread) : read
    const words = { frequency: frequency.trim(), timezone, anchor_at: now, notes: parsed.notes }
    if (parsed.schedule.kind === 'once')
      return { ...words, frequency: 'once', ...PAUSED, frequency_cron: null }
    const at = firstAfter(parsed, now, now)
    if (at === null) throw new ScheduleError('it never fires again')
    return { ...words, frequency_cron: parsed.canonical, is_active: true, next_run_at: at }
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    errors.push(...error.errors.map((text) => `frequency: ${text}`))
    return null
  }
}

const PAUSED = { is_active: false, next_run_at: null } as const

export interface WorkChange {
  readonly is_active?: boolean | undefined
  readonly frequency?: string | undefined
  readonly timezone?: string | undefined
  readonly spread?: Spread | null | undefined
}

/**
 * Pause, resume, another frequency or zone. A resumed work waits for the first time that is still to come; one
 * that is paused stays so until it is told otherwise; "once" has nothing left to wait for.
 */
export function changeWork(
  work: WorkSchedule & { readonly frequency: string },
  change: WorkChange,
  now: Date,
  errors: string[],
): ScheduleState | null {
  const { frequency, frequency_cron, timezone, anchor_at, is_active, next_run_at } = work
  const kept = { frequency, frequency_cron, timezone, anchor_at, is_active, next_run_at }
  const wasOnce = frequency_cron === null
  const isTimed = change.frequency !== undefined || change.spread
  if (!isTimed && change.timezone === undefined) {
    if (change.is_active === undefined || change.is_active === is_active) return kept
    if (!change.is_active) return { ...kept, ...PAUSED }
    if (wasOnce) throw onceIsOver()
    return resumed(work, kept, now, errors)
  }
  const asked = {
    // Its end and its spread are in the expression alone.
    frequency: change.frequency ?? frequency_cron ?? frequency,
    timezone: change.timezone ?? timezone,
    spread: change.spread,
  }
  const plan = planWork(asked, now, errors)
  if (plan === null) return null
  const { notes: _, ...read } = plan
  const planned = change.frequency === undefined ? { ...read, frequency } : read
  if (planned.frequency_cron === null) {
    if (change.is_active !== true) return planned
    if (change.frequency === undefined) throw onceIsOver()
    errors.push('is_active: work with frequency "once" has no further runs; give a frequency')
    return null
  }
  if (!(change.is_active ?? (wasOnce || is_active))) return { ...planned, ...PAUSED }
  return resumed(work, planned, now, errors)
}

function onceIsOver(): Refusal {
  return new Refusal(
    'conflict',
    'this work runs once, so there is nothing to resume: give it a frequency, or run it again',
  )
}

function resumed(
  work: WorkSchedule,
  state: ScheduleState,
  now: Date,
  errors: string[],
): ScheduleState | null {
  const parsed = parsedSchedule(state)
  const after = later(now, work.scheduled_for)
  const mark = work.fired_local ?? null
  const at =
    parsed instanceof ScheduleError ? null : firstAfter(parsed, after, state.anchor_at, mark)
  if (at !== null) return { ...state, is_active: true, next_run_at: at }
  const why = parsed instanceof ScheduleError ? parsed.message : 'it never fires again'
  errors.push(`frequency: ${why}`)
  return null
}

function firstAfter(
  { schedule }: Parsed,
  after: Date,
  anchor: Date,
  mark: string | null = null,
): Date | null {
  const at = nextUnfired(schedule, after.getTime(), anchor.getTime(), mark)
  return at === null ? null : new Date(at)
}

function later(a: Date, b: Date | null): Date {
  return b !== null && b > a ? b : a
}

function parsedSchedule({
  frequency_cron,
  timezone,
}: Pick<WorkSchedule, 'frequency_cron' | 'timezone'>): Parsed | ScheduleError {
  return parsedOf({ cron_expr: frequency_cron ?? '', timezone })
}

export interface Advance {
  /** Null: no further time. The work is then no longer active. */
  readonly nextRunAt: Date | null
  /** Times that passed unused and go into the run in hand. */
  readonly missedCount: number
}

/** The slot in `next_run_at` is taken: how many more have passed by now, and which comes next. */
export function takeSlot(work: WorkSchedule, now: Date): Advance {
  const parsed = parsedSchedule(work)
  // What was accepted once may be refused later, when zone data changed: it runs a last time and stops there.
  if (work.next_run_at === null || parsed instanceof ScheduleError)
    return { nextRunAt: null, missedCount: 0 }
  const slot = work.next_run_at.getTime()
  const ahead = missed(parsed.schedule, slot, now.getTime(), work.anchor_at.getTime())
  const nextRunAt = ahead.nextAt === null ? null : new Date(ahead.nextAt)
  return { nextRunAt, missedCount: ahead.missedCount }
}

/** Which slot a due work runs for. */
export function planCatchUp(work: WorkSchedule, now: Date): CatchUpPlan {
  const parsed = parsedSchedule(work)
  const slot = work.next_run_at ?? now
  const schedule = parsed instanceof ScheduleError ? null : parsed.schedule
  return catchUp(work, schedule, slot, now, work.anchor_at)
}

/** Whether the slot that waits is the first one after this instant: none was passed over, and no pause lies between. */
export function isNextAfter(work: WorkSchedule, at: Date): boolean {
  const parsed = parsedSchedule(work)
  if (parsed instanceof ScheduleError || work.next_run_at === null) return true
  return firstAfter(parsed, at, work.anchor_at)?.getTime() === work.next_run_at.getTime()
}

/** A slot's run has ended, well or not. Times that passed while it ran are coalesced into it, unless each of them is wanted. */
export function afterRun(work: WorkSchedule, now: Date): Advance {
  const { next_run_at: due } = work
  if (due === null || due > now || work.catch_up === 'all')
    return { nextRunAt: due, missedCount: 0 }
  const { nextRunAt, missedCount } = takeSlot(work, now)
  return { nextRunAt, missedCount: missedCount + 1 }
}

/** The next times while it is active: the one it waits for, then what follows. */
export function nextRuns(work: WorkSchedule, now: Date): Date[] {
  if (work.next_run_at === null) return []
  const schedule = cronSchedule({ ...work, cron_expr: work.frequency_cron ?? '' })
  return nextTimes(work.next_run_at, schedule, work.anchor_at, now)
}

/** Its frequency in words. */
export function frequencyWords(work: Pick<WorkSchedule, 'frequency_cron' | 'timezone'>): string {
  if (work.frequency_cron === null) return parseFrequency('once', 'UTC').description
  const parsed = parsedSchedule(work)
  return parsed instanceof ScheduleError ? parsed.message : parsed.description
}

/** The session whose order keeps the runs of one work apart. */
export function workSession(userId: string, agentType: string, workId: string): SessionRef {
  const session = parseSessionKey(`${userId}:${agentType}:${workId}`)
  if (session === null) throw new Error('a work whose parts fit no session key')
  return session
}

/** Whom to tell of a run that has ended: a session of the same user, or nobody. */
export function notifySession(parameters: unknown, userId: string): SessionRef | null {
  const { notify_session: key } = (parameters ?? {}) as { notify_session?: unknown }
  const session = typeof key === 'string' ? parseSessionKey(key) : null
  return session?.userId === userId ? session : null
}

/** What a run produced, ready to be written. */
export interface FinishedRun {
  readonly title: string
  readonly content: string
  /** JSON text. */
  readonly metadata: string
  readonly progressNote: string | null
  readonly file: {
    readonly key: string
    readonly url: string
    readonly name: string
    readonly format: string
    readonly bytes: number
  } | null
  /** JSON text of the event that says so where its work is told. */
  readonly notice: string
}

/** What a turn over a run asks of work. */
export type WorkAsk = { readonly output: FinishedRun }
