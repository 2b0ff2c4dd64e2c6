/** A schedule as its owner sees it: when, in words, what came of it last, and how it is named in a path. Pure. */
import {
  cronSchedule,
  describe,
  NEXT_TIMES,
  nextTimes,
} from '../../../packages/schedule/src/index.ts'
import { quoted, sentences, timesText, whenText } from '../../core/words.ts'
import { cronWords } from '../alarms/rules.ts'
import { nextChecks, scheduleOf, termsOf, scheduleWords as whenWords } from '../intents/rules.ts'
import { frequencyWords } from '../work/rules.ts'
import type { ScheduleKind } from './plan.ts'
import type { ScheduleRow, ScheduleStatus } from './schedule.ts'

/** What a path takes: the name, or the kind and the id of what has none. */
export const refOf = ({ kind, id, name }: Pick<ScheduleRow, 'kind' | 'id' | 'name'>) =>
  name === '' ? `${kind}:${id}` : name

const TARGET = /^(timer|alarm|intent|work):(.+)$/s

export function targetOf(ref: string): { kind: ScheduleKind; id: string } | null {
  const [, kind, id] = TARGET.exec(ref) ?? []
  return kind === undefined || id === undefined ? null : { kind: kind as ScheduleKind, id }
}

function intentTerms(row: ScheduleRow) {
  return termsOf({
    ...row,
    trigger_type: row.trigger_type ?? '',
    anchor_at: row.anchor_at ?? row.now,
    execution_count: row.execution_count ?? 0,
    next_check: row.next_at,
    scheduled_for: null,
    catch_up: 'once',
  })
}

/** When, or on what condition, in words. */
export function descriptionOf(row: ScheduleRow): string {
  const { kind, cron, timezone, once_at } = row
  if (kind === 'intent') return whenWords(intentTerms(row))
  if (cron !== null)
    return kind === 'work'
      ? frequencyWords({ frequency_cron: cron, timezone })
      : cronWords({ cron_expr: cron, timezone })
  const once = describe({ kind: 'once', at: once_at?.getTime() ?? null, timezone })
  return kind === 'timer' ? `${once}, unless the person writes first` : once
}

/** Up to three, the one it waits for first. */
export function timesAhead(row: ScheduleRow): Date[] {
  const { kind, next_at: first, cron, timezone, anchor_at, now } = row
  if (first === null) return []
  if (kind === 'intent') {
    const terms = intentTerms(row)
    return scheduleOf(terms) === null ? [] : (nextChecks(terms, now) ?? []).slice(0, NEXT_TIMES)
  }
  const schedule = cron === null ? null : cronSchedule({ cron_expr: cron, timezone })
  return nextTimes(first, schedule, anchor_at ?? now, now)
}

export interface ScheduleView {
  readonly kind: ScheduleKind
  readonly ref: string
  readonly id: string
  readonly name: string
  readonly userId: string
  readonly agentId: string | null
  readonly threadId: string | null
  readonly description: string
  readonly note: string
  readonly timeZone: string
  readonly nextAt: Date | null
  readonly next: readonly Date[]
  readonly last: { readonly at: Date; readonly outcome: string } | null
  readonly status: ScheduleStatus
}

export function viewOf(row: ScheduleRow): ScheduleView {
  const { kind, id, name, last_at: at, last_outcome: outcome } = row
  return {
    ...{ kind, ref: refOf(row), id, name: name === '' ? row.title : name },
    ...{ userId: row.user_id, agentId: row.agent_id, threadId: row.thread_id },
    description: descriptionOf(row),
    note: row.note ?? '',
    timeZone: row.timezone,
    nextAt: row.next_at,
    next: timesAhead(row),
    last:
      at === null && outcome === null ? null : { at: at ?? row.now, outcome: outcome ?? 'fired' },
    status: row.status,
  }
}

/** What is set, or what became of it: `Alarm "dentist" is set: once at …`. */
export function scheduleWords(row: ScheduleRow, did = 'is set'): string {
  const { kind, timezone, now, status, last_at: last } = row
  const name = quoted(row.name === '' ? row.title : row.name)
  const next = timesAhead(row)
  const state =
    status === 'active' ? did : did === 'is set' ? `is ${status}` : `${did}; it is ${status}`
  return sentences(
    `${kind.charAt(0).toUpperCase()}${kind.slice(1)} ${name} ${state}: ${descriptionOf(row)}.`,
    next.length > 0 && `Next: ${timesText(next, timezone, now)}.`,
    last !== null &&
      `Last ${row.last_outcome ?? 'fired'} ${whenText(last.getTime(), timezone, now.getTime())}.`,
  )
}
