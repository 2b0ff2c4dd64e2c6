/**
 * What a turn asks for with `setAlarm`, in the words of the HTTP API. Checked when it is asked, so that a
 * mistake shows at the call; written with the turn's commit.
 */
import {
  ALARM_KEY_MAX,
  DELAY_MAX_SECONDS,
  LABEL_MAX,
  MAX_FAILURES_MAX,
  WAKE_MESSAGE_MAX_BYTES,
} from '../core/alarms/alarm.ts'
import { type AlarmDraft, planAlarm, type Timing } from '../core/alarms/draft.ts'
import { newId } from '../core/ids.ts'
import { isZone, localInstant } from '../core/schedule/index.ts'
import { KEY_PART, ownerDidOf } from '../core/sessions/session.ts'
import { hasUnstorableText } from '../core/text.ts'
import type { AlarmRow } from '../store/alarms/alarms.ts'
import type { TurnInput } from './agent.ts'

export interface AlarmRequest {
  /** Exactly one of these four says when. */
  readonly fire_at?: Date | string
  readonly delay_seconds?: number
  /** Five fields, or `@every 5m`. */
  readonly cron_expr?: string
  /** A phrase: "tomorrow at 9am", "every weekday at 8:30". */
  readonly schedule?: string
  readonly timezone?: string
  readonly label?: string
  /** Where to wake; this thread if not said, `''` for a fresh thread each time. */
  readonly conversation_id?: string
  readonly wake_message: string
  readonly payload?: unknown
  /** The same key again sets nothing new. */
  readonly idempotency_key?: string
  readonly max_failures?: number
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
    max_failures: row.max_failures,
  }
}

const FIELDS = new Set([
  ...['fire_at', 'delay_seconds', 'cron_expr', 'schedule', 'timezone', 'label'],
  ...['conversation_id', 'wake_message', 'payload', 'idempotency_key', 'max_failures'],
])

/** `payload` is JSON text, checked by the caller. Throws what says how to mend it. */
export function alarmDraft(
  request: AlarmRequest,
  payload: string | null,
  { session, startedAt }: TurnInput,
): AlarmDraft {
  const unknown = Object.keys(request).find((name) => !FIELDS.has(name))
  check(unknown === undefined, `has no field ${unknown}; takes ${[...FIELDS].join(', ')}`)
  const timezone = request.timezone ?? 'UTC'
  const { wake_message: wakeMessage, max_failures: maxFailures } = request
  const bytes = typeof wakeMessage === 'string' ? Buffer.byteLength(wakeMessage) : 0
  check(
    bytes <= WAKE_MESSAGE_MAX_BYTES && bytes > 0 && wakeMessage.trim() !== '',
    `wake_message takes a text that is not blank, at most ${WAKE_MESSAGE_MAX_BYTES} bytes`,
  )
  check(
    maxFailures === undefined ||
      (Number.isInteger(maxFailures) && maxFailures >= 1 && maxFailures <= MAX_FAILURES_MAX),
    `max_failures takes a whole number from 1 to ${MAX_FAILURES_MAX}`,
  )
  const conversationId = request.conversation_id ?? session.threadId
  check(
    conversationId === '' || KEY_PART.test(conversationId),
    'conversation_id takes 1 to 64 of letters, digits, _ and -',
  )
  const draft: AlarmDraft = {
    id: newId(),
    ownerDid: ownerDidOf(session.userId),
    userId: session.userId,
    agentId: session.agentId,
    timing: timingOf(request, timezone),
    timezone,
    label: short('label', request.label ?? '', LABEL_MAX),
    conversationId,
    wakeMessage: short('wake_message', wakeMessage, WAKE_MESSAGE_MAX_BYTES),
    idempotencyKey: short('idempotency_key', request.idempotency_key ?? '', ALARM_KEY_MAX),
    ...(payload === null ? {} : { payload }),
    ...(maxFailures === undefined ? {} : { maxFailures }),
    // The commit comes later than the asking: what was right then still fires, at once.
    lateIsFine: true,
  }
  return settled(draft, startedAt)
}

function check(right: boolean, message: string): asserts right {
  if (!right) throw new TypeError(`setAlarm: ${message}`)
}

function short(name: string, text: unknown, max: number): string {
  check(
    typeof text === 'string' && text.length <= max && !hasUnstorableText(text),
    `${name} takes a text of at most ${max} characters, without NUL or half of a surrogate pair`,
  )
  return text
}

function timingOf(request: AlarmRequest, timezone: string): Timing {
  const { fire_at: fireAt, delay_seconds: delay, cron_expr: expr, schedule: phrase } = request
  const given = [fireAt, delay, expr, phrase].filter((each) => each !== undefined)
  check(given.length === 1, 'takes exactly one of fire_at, delay_seconds, cron_expr and schedule')
  if (expr !== undefined) return { type: 'cron', expr }
  if (phrase !== undefined) return { type: 'phrase', text: phrase }
  if (delay !== undefined) {
    const right = Number.isFinite(delay) && delay >= 0 && delay <= DELAY_MAX_SECONDS
    check(right, 'delay_seconds takes a number of seconds, 0 or more')
    return { type: 'delay', ms: delay * 1000 }
  }
  const text = fireAt instanceof Date ? dateText(fireAt) : String(fireAt)
  const at = localInstant(text, isZone(timezone) ? timezone : 'UTC')
  check(at !== null, 'fire_at takes a Date or an ISO instant before the year 10000')
  return { type: 'at', at: new Date(at) }
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** Plans it once for its errors; a phrase means what it meant when the turn began, whenever the commit comes. */
function settled(draft: AlarmDraft, startedAt: Date): AlarmDraft {
  const plan = planAlarm(draft, startedAt)
  if (draft.timing.type !== 'phrase') return draft
  const timing: Timing =
    plan.fireAt === null ? { type: 'cron', expr: plan.cronExpr } : { type: 'at', at: plan.fireAt }
  return { ...draft, timing }
}
