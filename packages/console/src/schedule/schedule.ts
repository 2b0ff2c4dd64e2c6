/** A schedule as the server lists it, and its state in words. Pure. */
import type { Kind } from '../api/ledger.ts'
import type { IconName } from '../parts/icon-paths.ts'
import type { Tone } from '../parts/tone.ts'

export interface Schedule {
  readonly kind: Kind
  readonly ref: string
  readonly id: string
  readonly name: string
  readonly user_id: string
  readonly agent_id: string | null
  readonly thread_id: string | null
  readonly description: string
  readonly note: string
  readonly timezone: string
  readonly next_at: string | null
  readonly next: readonly string[]
  readonly last: { readonly at: string; readonly outcome: string } | null
  readonly status: 'active' | 'paused' | 'done' | 'failed'
}

/** Unique among all schedules, which names are not. */
export function refOf({ kind, id }: Pick<Schedule, 'kind' | 'id'>): string {
  return `${kind}:${id}`
}

export function pathOf(schedule: Pick<Schedule, 'kind' | 'id'>, action = ''): string {
  return `v1/schedules/${encodeURIComponent(refOf(schedule))}${action === '' ? '' : `/${action}`}`
}

export function pageOf(kind: string, id: string): string {
  return `/schedule/${kind}:${encodeURIComponent(id)}`
}

/** Without what other columns show: the instant of what comes once, and the zone. */
export function briefly({ description }: Pick<Schedule, 'description'>): string {
  return description
    .replace(/^once at .*?(?=, unless|$)/, 'once')
    .replace(/ \([A-Za-z_+-]+(?:\/[A-Za-z_+-]+)*\)$/, '')
}

interface StateWords {
  readonly words: string
  readonly icon: IconName
  readonly tone: Tone
}

const STATES: Readonly<Record<Schedule['status'], StateWords>> = {
  active: { words: 'active', icon: 'play', tone: 'good' },
  paused: { words: 'paused', icon: 'pause', tone: 'plain' },
  done: { words: 'done', icon: 'check', tone: 'plain' },
  failed: { words: 'failed', icon: 'warning', tone: 'bad' },
}

/** One that goes on but failed last is not well. */
export function stateOf({ status, last }: Pick<Schedule, 'status' | 'last'>): StateWords {
  if (status === 'active' && last !== null && /fail/.test(last.outcome))
    return { words: 'failing', icon: 'warning', tone: 'bad' }
  return STATES[status]
}

export type Action = 'pause' | 'resume' | 'run' | 'delete'

export const ACTIONS: Readonly<
  Record<Action, { readonly words: string; readonly icon: IconName }>
> = {
  run: { words: 'Run now', icon: 'retry' },
  pause: { words: 'Pause', icon: 'pause' },
  resume: { words: 'Resume', icon: 'play' },
  delete: { words: 'Delete', icon: 'trash' },
}

/** What can be done with one in its state. */
export function actionsOf({ status, kind }: Pick<Schedule, 'status' | 'kind'>): readonly Action[] {
  if (status === 'active') return kind === 'timer' ? ['run', 'delete'] : ['run', 'pause', 'delete']
  if (status === 'paused') return ['resume', 'run', 'delete']
  return ['run', 'delete']
}

export function requestOf(schedule: Pick<Schedule, 'kind' | 'id'>, action: Action) {
  if (action === 'delete') return { method: 'DELETE', path: pathOf(schedule) } as const
  return { method: 'POST', path: pathOf(schedule, action) } as const
}
