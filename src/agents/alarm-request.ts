/** What `setAlarm` takes, and what it becomes. */
import { z } from 'zod'
import { RawJson } from '../../packages/exact-json/src/index.ts'
import { DELAY_MAX_SECONDS } from '../core/fields.ts'
import { newId } from '../core/ids.ts'
import { ownerDidOf } from '../core/session.ts'
import { UNKNOWN_FIELD } from '../core/shape.ts'
import { type AlarmDraft, planAlarm, type Timing, timingOf } from '../features/alarms/draft.ts'
import { alarmFields, alarmTimes } from '../features/alarms/fields.ts'
import type { AlarmRow } from '../features/alarms/rows.ts'
import type { TurnInput } from './agent.ts'
import { opaque, readAsked } from './asked.ts'

const TIMES = Object.keys(alarmTimes) as (keyof typeof alarmTimes)[]

const shape = z
  .strictObject({
    ...alarmTimes,
    delay_seconds: z.number().min(0).max(DELAY_MAX_SECONDS).optional(),
    ...alarmFields,
    /** Where to wake; this thread if not said, `''` for a fresh thread each time. */
    conversation_id: alarmFields.conversation_id.unwrap().optional(),
  })
  .refine((asked) => TIMES.filter((name) => asked[name] !== undefined).length === 1, {
    error: 'takes exactly one of fire_at, delay_seconds, cron_expr and schedule',
    when: () => true,
  })

/** Exactly one of `fire_at`, `delay_seconds`, `cron_expr` and `schedule` says when. */
export interface AlarmRequest extends Readonly<Omit<z.input<typeof shape>, 'fire_at' | 'payload'>> {
  readonly fire_at?: Date | string
  readonly payload?: unknown
}

/** Those of its fields that say when. */
export type AlarmTime = Pick<
  AlarmRequest,
  'fire_at' | 'delay_seconds' | 'cron_expr' | 'schedule' | 'timezone'
>

/** What an alarm keeps when it is set to another time. */
export function keptOf(row: AlarmRow): Omit<AlarmRequest, keyof AlarmTime> & { timezone: string } {
  return {
    timezone: row.timezone,
    label: row.label,
    conversation_id: row.conversation_id,
    wake_message: row.wake_message,
    payload: new RawJson(row.payload),
    max_failures: row.max_failures,
    catch_up: row.catch_up,
    catch_up_within_seconds: row.catch_up_within_seconds,
    unattended: row.unattended,
  }
}

/** Throws what says how to mend it. */
export function alarmDraft(
  request: AlarmRequest,
  { session, startedAt, person }: TurnInput,
): AlarmDraft {
  const { fire_at: at } = request
  const asked = readAsked(
    shape,
    {
      ...request,
      ...(at instanceof Date ? { fire_at: dateText(at) } : {}),
      payload: opaque('setAlarm: payload', request.payload),
    },
    say,
  )
  const { fire_at, delay_seconds, cron_expr, schedule, ...fields } = asked
  const timezone = fields.timezone ?? person?.timezone ?? 'UTC'
  const draft: AlarmDraft = {
    id: newId(),
    ownerDid: ownerDidOf(session.userId),
    userId: session.userId,
    agentId: session.agentId,
    timing: timingOf(asked, timezone),
    fields: { ...fields, timezone, conversation_id: fields.conversation_id ?? session.threadId },
    // The commit comes later than the asking: what was right then still fires, at once.
    lateIsFine: true,
  }
  const plan = planAlarm({ ...draft, timezone }, startedAt)
  if (draft.timing.type !== 'phrase') return draft
  // A phrase means what it meant when the turn began, whenever the commit comes.
  const timing: Timing =
    plan.fireAt === null ? { type: 'cron', expr: plan.cronExpr } : { type: 'at', at: plan.fireAt }
  return { ...draft, timing }
}

/** In the words of a function: `setAlarm: label takes what has at most 256 characters`. */
function say(field: string, message: string): string {
  if (field === '') return `setAlarm: ${message}`
  if (message === UNKNOWN_FIELD)
    return `setAlarm: has no field ${field}; takes ${Object.keys(shape.shape).join(', ')}`
  const what = message.replace(/^must (not )?be /, 'is $1').replace(/^must have /, 'has ')
  return `setAlarm: ${field} takes what ${what}`
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}
