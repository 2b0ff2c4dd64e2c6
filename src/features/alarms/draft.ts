/**
 * From what was asked for to an alarm that can be kept. Needs the database's time ("in 20 minutes",
 * "in the future"), so it runs where the row is written. Refuses with all reasons at once.
 */
import type { z } from 'zod'
import {
  type RawJson,
  readJson,
  readLevel,
  writeJson,
} from '../../../packages/exact-json/src/index.ts'
import {
  formatLocal,
  instantIn,
  isZone,
  next,
  type Parsed,
  parsedCron,
  parsePhrase,
  ScheduleError,
  type Spread,
  spreadOver,
  zoneError,
} from '../../../packages/schedule/src/index.ts'
import { MAX_FAILURES } from '../../core/backoff.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { bucketOf, type EventType } from '../../core/session.ts'
import type { AuditEntry, AuditHead } from '../identity/audit.ts'
import type { Priority } from '../intents/rules.ts'
import type { AlarmFields, AlarmRow, alarmTimes } from './fields.ts'
import type { AlarmKind } from './rules.ts'

export type Timing =
  | { readonly type: 'at'; readonly at: Date }
  | { readonly type: 'delay'; readonly ms: number }
  | { readonly type: 'cron'; readonly expr: string }
  | { readonly type: 'phrase'; readonly text: string }

/** The fields that say when, of which one is there. */
export function timingOf(
  times: { readonly [K in keyof typeof alarmTimes]?: z.output<(typeof alarmTimes)[K]> },
  timezone: string,
): Timing {
  if (times.schedule !== undefined) return { type: 'phrase', text: times.schedule }
  if (times.cron_expr !== undefined) return { type: 'cron', expr: times.cron_expr }
  if (times.delay_seconds !== undefined) return { type: 'delay', ms: times.delay_seconds * 1000 }
  return { type: 'at', at: instantIn(times.fire_at ?? '', timezone) }
}

/** Such a time means the same instant everywhere. */
function isRelative(timing: Timing): boolean {
  return timing.type === 'delay' || (timing.type === 'phrase' && /^\s*in\b/i.test(timing.text))
}

interface Asked {
  readonly timing: Timing
  readonly timezone: string
  /** A time that has passed fires at once instead of being refused: a turn's commit comes after its asking. */
  readonly lateIsFine?: boolean
  /** By how much later it fires. */
  readonly spread?: Spread | null
  /** What the door has found wrong already; said together with the rest. */
  readonly errors?: readonly string[]
}

export interface AlarmDraft extends Omit<Asked, 'timezone'> {
  readonly id: string
  readonly ownerDid: string
  readonly userId: string
  /** Null: the wake URL. */
  readonly agentId: string | null
  readonly fields: AlarmFields
  /** The trace it was set in; its wakes belong to it. */
  readonly traceparent?: string | null
  /** Written by the server: see `limits/lineage.ts`. */
  readonly lineage?: string | null
  /** Who asked, where an operation did: written with the alarm. */
  readonly audit?: AuditHead | null
  /** A message says that it will come: it is set with that message or not at all. */
  readonly promised?: boolean
  /** Of a schedule: unique for its person and agent. */
  readonly name?: string
  readonly priority?: Priority
  /** Its zone is the person's, also after they have moved. */
  readonly followsZone?: boolean
}

export interface AlarmPlan {
  readonly kind: AlarmKind
  readonly fireAt: Date | null
  readonly cronExpr: string
  readonly nextFireAt: Date
  readonly anchorAt: Date
  /** Defaults that were assumed, in words. */
  readonly notes: readonly string[]
}

/** Throws a `Refusal` with all reasons. */
export function planAlarm(asked: Asked, now: Date): AlarmPlan {
  const errors = [...(asked.errors ?? [])]
  if (!isZone(asked.timezone)) throw new Refusal('rule', [...errors, zoneError(asked.timezone)])
  const plan = planTiming(asked, now, errors)
  if (plan === null || errors.length > 0) throw new Refusal('rule', errors)
  return { anchorAt: now, ...plan }
}

/** A row to be written, and who asked for it. */
export interface NewAlarm extends AlarmRow {
  readonly audit: AuditEntry | null
}

/** In one literal: a spread of twenty members took longer than all the rest. */
export function newAlarm(draft: AlarmDraft, plan: AlarmPlan, maxFailures = MAX_FAILURES): NewAlarm {
  const { id, userId, ownerDid, agentId, fields, audit } = draft
  const { name, priority, followsZone, traceparent, lineage } = draft
  const { anchorAt: now, nextFireAt: at } = plan
  return {
    bucket: bucketOf(userId),
    id,
    owner_did: ownerDid,
    user_id: userId,
    label: fields.label,
    kind: plan.kind,
    fire_at: plan.fireAt,
    cron_expr: plan.cronExpr,
    timezone: fields.timezone,
    anchor_at: now,
    next_fire_at: at,
    scheduled_for: at,
    due_at: at,
    conversation_id: fields.conversation_id,
    wake_message: fields.wake_message,
    payload: fields.payload?.text ?? '{}',
    status: 'active',
    idempotency_key: fields.idempotency_key,
    max_failures: fields.max_failures ?? maxFailures,
    failure_count: 0,
    last_error: '',
    created_at: now,
    last_fired_at: null,
    agent_id: agentId,
    missed_count: 0,
    attempt: 0,
    delivery_id: newId(),
    catch_up: fields.catch_up,
    catch_up_within_seconds: fields.catch_up_within_seconds ?? null,
    unattended: fields.unattended,
    traceparent: traceparent ?? null,
    lineage: lineage ?? null,
    name: name ?? '',
    priority: priority ?? 'normal',
    follows_zone: (followsZone ?? false) && !isRelative(draft.timing),
    fired_local: null,
    paused_at: null,
    now,
    audit: audit ? { ...audit, objectId: id, owner: userId } : null,
  }
}

type Planned = Omit<AlarmPlan, 'anchorAt'>

function planTiming(draft: Asked, now: Date, errors: string[]): Planned | null {
  const { timing, spread = null } = draft
  const later = (at: Date) => new Date(at.getTime() + (spread?.offsetMs ?? 0))
  switch (timing.type) {
    case 'at':
      return planAt(draft, later(timing.at), now, errors)
    case 'delay':
      return once(later(new Date(now.getTime() + timing.ms)))
    case 'cron':
      return attempt('cron_expr', errors, () => {
        const parsed = parsedCron(timing.expr, draft.timezone)
        if (spread === null) return recurring(parsed, timing.expr.trim(), now)
        const spreaded = spreadOver(parsed, spread)
        return recurring(spreaded, spreaded.canonical, now)
      })
    case 'phrase':
      return attempt('schedule', errors, () => {
        const read = parsePhrase(timing.text, { timezone: draft.timezone, now: now.getTime() })
        const parsed = spread === null ? read : spreadOver(read, spread)
        if (parsed.schedule.kind !== 'once') return recurring(parsed, parsed.canonical, now)
        if (parsed.schedule.at !== null) return once(new Date(parsed.schedule.at), parsed.notes)
        throw new ScheduleError('say when, for example "in 20 minutes" or "tomorrow at 9am"')
      })
  }
}

function planAt(draft: Asked, at: Date, now: Date, errors: string[]): Planned | null {
  if (at > now || draft.lateIsFine) return once(at)
  const local = (instant: Date) => formatLocal(instant.getTime(), draft.timezone)
  errors.push(`fire_at: ${local(at)} is not in the future, now is ${local(now)}`)
  return null
}

function once(at: Date, notes: readonly string[] = []): Planned {
  return { kind: 'once', fireAt: at, cronExpr: '', nextFireAt: at, notes }
}

function recurring(parsed: Parsed, cronExpr: string, now: Date): Planned {
  const from = now.getTime()
  const [at] = next(parsed.schedule, from, { anchor: from })
  if (at === undefined) throw new ScheduleError('it never fires again')
  return { kind: 'cron', fireAt: null, cronExpr, nextFireAt: new Date(at), notes: parsed.notes }
}

function attempt(field: string, errors: string[], read: () => Planned): Planned | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    errors.push(...error.errors.map((text) => `${field}: ${text}`))
    return null
  }
}

/** What a turn may ask of alarms. */
export type AlarmAsk = { readonly set: AlarmDraft } | { readonly cancel: string }

const MARK = '{"tool_id":"promise","promise":{'
const OPAQUE: ReadonlySet<string> = new Set(['payload'])

/** What is said, and the fields of its alarm, whose id is known already. */
export interface MadePromise extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly content: string
}

/** The alarm's own payload stays the text it was posted in. */
export function promisePayload(promise: MadePromise): string {
  return writeJson({ tool_id: 'promise', promise })
}

export function promiseIn(event: {
  readonly type: EventType
  readonly payload: string
}): MadePromise | null {
  if (event.type !== 'tool_result' || !event.payload.startsWith(MARK)) return null
  const { promise } = readLevel(event.payload) as { promise: RawJson }
  return readJson(promise.text, OPAQUE) as MadePromise
}
