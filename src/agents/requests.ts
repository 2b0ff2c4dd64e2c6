/**
 * What a turn asks of triggers, in the words of the HTTP API. Checked when it is asked, so that a mistake shows at the
 * call; written with the turn's commit.
 */
import { z } from 'zod'
import { RawJson } from '../../packages/exact-json/src/index.ts'
import { Refusal, TerminalError } from '../core/errors.ts'
import { DELAY_MAX_SECONDS } from '../core/fields.ts'
import { isUuid, newId } from '../core/ids.ts'
import { ownerDidOf } from '../core/session.ts'
import { readShape, UNKNOWN_FIELD, where } from '../core/shape.ts'
import { hasUnstorableJson } from '../core/text.ts'
import { type AlarmDraft, planAlarm, type Timing, timingOf } from '../features/alarms/draft.ts'
import { alarmFields, alarmTimes } from '../features/alarms/fields.ts'
import type { AlarmRow } from '../features/alarms/rows.ts'
import { validateIntent } from '../features/intents/checks.ts'
import { changeIntent, type IntentDraft, intentWish, termsFrom } from '../features/intents/draft.ts'
import { intentFields, newIntentFields } from '../features/intents/fields.ts'
import type { IntentRow } from '../features/intents/rows.ts'
import { type WorkDraft, workErrors } from '../features/work/draft.ts'
import { type WorkFields, workFields } from '../features/work/fields.ts'
import type { WorkRow } from '../features/work/rows.ts'
import { changeWork, notifySession, planWork } from '../features/work/rules.ts'
import type { TurnInput } from './agent.ts'

const OPAQUE_MAX_BYTES = 64 * 1024
const UNSTORABLE = 'must be without NUL and without half of a surrogate pair'

export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

type Say = (field: string, message: string) => string
const plainly: Say = (field, message) => `${field === '' ? 'it' : field}: ${message}`

/** As the schema has it. Throws a `Refusal` with all that is wrong. */
export function readAsked<S extends z.ZodObject>(
  schema: S,
  request: Readonly<Record<string, unknown>>,
  say: Say = plainly,
): z.output<S> {
  const unstorable = Object.keys(request).filter(
    (name) =>
      !(request[name] instanceof RawJson) && hasUnstorableJson(JSON.stringify(request[name]) ?? ''),
  )
  if (unstorable.length > 0)
    throw new Refusal(
      'shape',
      unstorable.map((name) => say(name, UNSTORABLE)),
    )
  const read = readShape(schema, request)
  if ('data' in read) return read.data
  throw new Refusal(
    'shape',
    read.errors.map(({ path, message }) => say(where(path), message)),
  )
}

/** A field that is kept verbatim: the text a remote agent wrote, or the JSON of a value. */
export function opaque(what: string, value: unknown): RawJson | undefined {
  if (value === undefined || value instanceof RawJson) return value
  return new RawJson(storable(what, value, OPAQUE_MAX_BYTES))
}

/** The value as JSON that can be kept; says what is wrong with it otherwise. */
export function storable(what: string, value: unknown, maxBytes = OPAQUE_MAX_BYTES): string {
  const text = JSON.stringify(value)
  if (text === undefined) throw new TypeError(`${what} takes what JSON can hold`)
  if (Buffer.byteLength(text) > maxBytes)
    throw new TypeError(`${what} takes at most ${maxBytes} bytes of JSON`)
  // `\u0000` is legal JSON and PostgreSQL cannot hand it on.
  if (hasUnstorableJson(text)) {
    throw new TypeError(`${what} holds a NUL or half of a surrogate pair`)
  }
  return text
}

const YEAR_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59)

export interface FollowUp {
  readonly inSeconds?: number
  readonly at?: Date | string
  readonly payload?: unknown
}

export function instant(when: FollowUp): { fireAt: Date | null; delayMs: number | null } {
  if ((when.inSeconds === undefined) === (when.at === undefined)) {
    throw new TypeError('schedule_timer: takes exactly one of delay_seconds and fire_at')
  }
  if (when.inSeconds !== undefined) {
    const { inSeconds } = when
    if (!Number.isFinite(inSeconds) || inSeconds < 0 || inSeconds > DELAY_MAX_SECONDS) {
      throw new TypeError('schedule_timer: delay_seconds takes a number of seconds, 0 or more')
    }
    return { fireAt: null, delayMs: when.inSeconds * 1000 }
  }
  const at = new Date(when.at as string | Date)
  if (Number.isNaN(at.getTime()) || at.getTime() > YEAR_MAX_MS) {
    throw new TypeError(
      'schedule_timer: fire_at takes a Date or an ISO instant before the year 10000',
    )
  }
  return { fireAt: at, delayMs: null }
}

const TIMES = Object.keys(alarmTimes) as (keyof typeof alarmTimes)[]

const alarmShape = z
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
export interface AlarmRequest
  extends Readonly<Omit<z.input<typeof alarmShape>, 'fire_at' | 'payload'>> {
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
    alarmShape,
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
    return `setAlarm: has no field ${field}; takes ${Object.keys(alarmShape.shape).join(', ')}`
  const what = message.replace(/^must (not )?be /, 'is $1').replace(/^must have /, 'has ')
  return `setAlarm: ${field} takes what ${what}`
}

function dateText(date: Date): string {
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

const newIntentShape = z
  .strictObject(newIntentFields)
  .omit({ agent_id: true, enabled: true, metadata: true })

/** `thread_id` says where to wake: this thread if not said. */
export interface IntentRequest extends DeepReadonly<z.input<typeof newIntentShape>> {}

/** Throws a `Refusal` with all that is wrong. */
export function intentDraft(
  request: IntentRequest,
  { session, startedAt, person }: Pick<TurnInput, 'session' | 'startedAt' | 'person'>,
): IntentDraft {
  const asked = readAsked(newIntentShape, { ...request })
  const { userId, agentId } = session
  const thread_id = asked.thread_id ?? session.threadId
  const timezone = asked.timezone ?? person?.timezone ?? 'UTC'
  const wish = intentWish({ ...asked, timezone, enabled: true, agent_id: agentId, thread_id })
  const errors = validateIntent(termsFrom(wish, startedAt), startedAt)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return { id: newId(), userId, createdBy: agentId, wish }
}

const newWorkShape = z.strictObject(workFields)

export interface WorkRequest extends Readonly<Omit<z.input<typeof newWorkShape>, 'parameters'>> {
  /** For the executor. `notify_session`: a session of this agent and user that is told when a run completes. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A session named among the parameters, as it once was, comes before the conversation it was made in. */
function whomOf(fields: WorkFields, session: TurnInput['session']): string {
  const given =
    fields.parameters === undefined ? {} : (JSON.parse(fields.parameters.text) as object)
  const { key } = notifySession(given, session.userId) ?? session
  return fields.notify_session ?? key
}

/** Throws a `Refusal` with all that is wrong. */
export function workDraft(
  request: WorkRequest,
  input: Pick<TurnInput, 'session' | 'startedAt' | 'workTypes' | 'person'>,
): WorkDraft {
  const parameters = opaque('createWork: parameters', request.parameters)
  const { session, startedAt, workTypes, person } = input
  const asked = readAsked(newWorkShape, { ...request, parameters })
  const fields = { ...asked, timezone: asked.timezone ?? person?.timezone ?? 'UTC' }
  const { userId, agentId } = session
  const whom = `takes a session key of this user and agent, ${userId}:${agentId}:thread`
  const refuses = (told: string) => (told === agentId ? null : whom)
  const errors = workErrors(fields, { types: workTypes, userId, told: { whom, refuses } })
  planWork(fields, startedAt, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  // What was made in a conversation tells that conversation, unless it is told otherwise.
  return { id: newId(), userId, fields: { ...fields, notify_session: whomOf(fields, session) } }
}

const workShape = z.strictObject({
  is_active: z.boolean().optional(),
  frequency: workFields.frequency.unwrap().optional(),
  timezone: workFields.timezone.unwrap().optional(),
  task: workFields.task.optional(),
})

/** What is left out stays as it is. */
export interface WorkChangeRequest extends DeepReadonly<z.input<typeof workShape>> {}
export type AskedWorkChange = z.output<typeof workShape>

/** Throws a `Refusal` with all that is wrong. */
export function workChange(request: WorkChangeRequest, row: WorkRow): AskedWorkChange {
  const asked = readAsked(workShape, { ...request })
  const errors: string[] = []
  changeWork(row, asked, row.now, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return asked
}

const intentShape = z
  .strictObject(intentFields)
  .omit({ agent_id: true, thread_id: true, metadata: true })
  .partial()

/** What is left out stays as it is; null empties what may be empty. */
export interface IntentChangeRequest extends DeepReadonly<z.input<typeof intentShape>> {}
export type AskedIntentChange = z.output<typeof intentShape>

/** Throws a `Refusal` with all that is wrong. */
export function intentChange(
  request: IntentChangeRequest,
  row: IntentRow,
): { asked: AskedIntentChange; enabling: boolean } {
  const asked = readAsked(intentShape, { ...request })
  const errors: string[] = []
  const { enabling } = changeIntent(row, intentWish(asked, row), row.now, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return { asked, enabling }
}

const STATE_MAX_BYTES = 1024 * 1024

export function requireId(id: string, name: string, from: string): void {
  if (typeof id !== 'string' || !isUuid(id))
    throw new TypeError(`${name}: takes the id that ${from} answered`)
}

export function stateText(state: unknown): string {
  if (typeof state !== 'object' || state === null || Array.isArray(state)) {
    throw new TerminalError('turn.state must stay a JSON object')
  }
  return storable('turn.state', state, STATE_MAX_BYTES)
}
