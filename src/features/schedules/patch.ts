/** What a stored schedule says, as it would be set again; a change is merged into that. Pure. */
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { FOLLOWS } from '../../core/fields.ts'
import type { Priority } from '../intents/rules.ts'
import type { WireSpec } from './fields.ts'
import type { ScheduleRow } from './schedule.ts'

const TIMES = ['in', 'at', 'every', 'when'] as const

/** Fields of a change; those that are undefined are kept. */
export type SpecChange = { readonly [K in keyof WireSpec]?: WireSpec[K] | undefined }

/** Whether the change touches when it happens, and not only what is told then. */
export function touchesTime(change: SpecChange): boolean {
  const fields = [...TIMES, ...PARTS, 'run', 'cancel_on_reply'] as const
  return fields.some((field) => change[field] !== undefined)
}

/** What belongs to a time beside it. */
const PARTS = ['timezone', 'until', 'times', 'spread'] as const

/** Not of intents, whose condition says more than `when`. */
export function specOf(row: ScheduleRow): WireSpec {
  const { kind, cron, once_at, note, data, executor } = row
  const plain = {
    ...(cron === null ? { at: once_at?.toISOString() ?? '' } : rhythmOf(cron)),
    ...(note === null ? {} : { note }),
    timezone: row.follows_zone ? FOLLOWS : row.timezone,
  }
  if (kind === 'timer') return { ...plain, cancel_on_reply: true, ...dataOf('data', data) }
  const missed = {
    ...(row.catch_up === null ? {} : { catch_up: row.catch_up as WireSpec['catch_up'] }),
    ...(row.catch_up_within_seconds === null
      ? {}
      : { catch_up_within_seconds: row.catch_up_within_seconds }),
  }
  if (kind === 'work')
    return { ...plain, ...missed, run: executor ?? '', ...dataOf('with', data) } as WireSpec
  const thread = row.thread_id === null ? { thread: 'fresh' as const } : {}
  const priority = row.priority === null ? {} : { priority: row.priority as Priority }
  return { ...plain, ...missed, ...thread, ...priority, ...dataOf('data', data) } as WireSpec
}

const RHYTHM = /^(.*?)(?: until (\S+))?(?: spread (\d+)s by \d+s)?$/s

function rhythmOf(cron: string) {
  const [, every = cron, until, seconds] = RHYTHM.exec(cron) ?? []
  return {
    every,
    ...(until === undefined ? {} : { until }),
    ...(seconds === undefined ? {} : { spread: `${seconds} seconds` }),
  }
}

const dataOf = (field: 'data' | 'with', json: string | null) =>
  json === null ? {} : { [field]: new RawJson(json) }

/** Another kind of time takes the place of the old one, with what belongs to that. */
export function mergedSpec(row: ScheduleRow, change: SpecChange): WireSpec {
  const before: Record<string, unknown> = row.kind === 'intent' ? intentSpec(row) : specOf(row)
  if (TIMES.some((field) => change[field] !== undefined)) {
    for (const field of [...TIMES, 'spread']) delete before[field]
    if (change.every === undefined && change.when === undefined) {
      delete before.until
      delete before.times
    } else delete before.cancel_on_reply
    if (change.when !== undefined)
      for (const field of ['run', 'with', 'thread']) delete before[field]
  }
  if (change.run !== undefined || change.cancel_on_reply === true)
    for (const field of ['priority', 'thread', 'data']) delete before[field]
  if (change.cancel_on_reply === true)
    for (const field of ['catch_up', 'catch_up_within_seconds']) delete before[field]
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  return { ...before, ...Object.fromEntries(given) } as WireSpec
}

/** What an intent keeps when it becomes a schedule of another kind. */
function intentSpec(row: ScheduleRow): Record<string, unknown> {
  return {
    ...(row.note === null ? {} : { note: row.note }),
    ...dataOf('data', row.data),
    timezone: row.follows_zone ? FOLLOWS : row.timezone,
    priority: row.priority,
  }
}
