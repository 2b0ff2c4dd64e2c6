/**
 * From what was asked for to an alarm that can be kept. Needs the database's time ("in 20 minutes",
 * "in the future"), so it runs where the row is written. Refuses with all reasons at once.
 */

import { Refusal } from '../errors.ts'
import type { AuditHead } from '../identity/audit.ts'
import {
  formatLocal,
  isZone,
  next,
  type Parsed,
  parseCron,
  parsePhrase,
  ScheduleError,
} from '../schedule/index.ts'
import { type AlarmKind, MAX_FAILURES } from './alarm.ts'

export type Timing =
  | { readonly type: 'at'; readonly at: Date }
  | { readonly type: 'delay'; readonly ms: number }
  | { readonly type: 'cron'; readonly expr: string }
  | { readonly type: 'phrase'; readonly text: string }

export interface AlarmDraft {
  readonly id: string
  readonly ownerDid: string
  readonly userId: string
  /** Null: the wake URL. */
  readonly agentId: string | null
  readonly timing: Timing
  readonly timezone: string
  readonly label?: string
  /** Empty: every slot opens a fresh thread. */
  readonly conversationId?: string
  readonly wakeMessage: string
  /** JSON text, kept verbatim. */
  readonly payload?: string
  readonly idempotencyKey?: string
  readonly maxFailures?: number
  /** A time that has passed fires at once instead of being refused: a turn's commit comes after its asking. */
  readonly lateIsFine?: boolean
  /** What the door has found wrong already; said together with the rest. */
  readonly errors?: readonly string[]
  /** The trace it was set in; its wakes belong to it. */
  readonly traceparent?: string | null
  /** Who asked, where an operation did: written with the alarm. */
  readonly audit?: AuditHead | null
}

export interface AlarmPlan {
  readonly draft: AlarmDraft
  readonly kind: AlarmKind
  readonly fireAt: Date | null
  readonly cronExpr: string
  readonly nextFireAt: Date
  readonly anchorAt: Date
  readonly maxFailures: number
  /** Defaults that were assumed, in words. */
  readonly notes: readonly string[]
}

/** Throws a `Refusal` with all reasons. */
export function planAlarm(draft: AlarmDraft, now: Date): AlarmPlan {
  const errors = [...(draft.errors ?? [])]
  if (!isZone(draft.timezone)) {
    const given = JSON.stringify(draft.timezone.slice(0, 64))
    errors.push(`timezone: ${given} is no IANA time zone; write one like "Europe/Berlin" or "UTC"`)
    throw new Refusal('rule', errors)
  }
  const plan = planTiming(draft, now, errors)
  if (plan === null || errors.length > 0) throw new Refusal('rule', errors)
  return { draft, anchorAt: now, maxFailures: draft.maxFailures ?? MAX_FAILURES, ...plan }
}

type Planned = Pick<AlarmPlan, 'kind' | 'fireAt' | 'cronExpr' | 'nextFireAt' | 'notes'>

function planTiming(draft: AlarmDraft, now: Date, errors: string[]): Planned | null {
  const { timing } = draft
  switch (timing.type) {
    case 'at':
      return planAt(draft, timing.at, now, errors)
    case 'delay':
      return once(new Date(now.getTime() + timing.ms))
    case 'cron':
      return attempt('cron_expr', errors, () =>
        recurring(parseCron(timing.expr, draft.timezone), timing.expr.trim(), now),
      )
    case 'phrase':
      return attempt('schedule', errors, () => {
        const parsed = parsePhrase(timing.text, { timezone: draft.timezone, now: now.getTime() })
        if (parsed.schedule.kind !== 'once') return recurring(parsed, parsed.canonical, now)
        if (parsed.schedule.at !== null) return once(new Date(parsed.schedule.at), parsed.notes)
        throw new ScheduleError('say when, for example "in 20 minutes" or "tomorrow at 9am"')
      })
  }
}

function planAt(draft: AlarmDraft, at: Date, now: Date, errors: string[]): Planned | null {
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
