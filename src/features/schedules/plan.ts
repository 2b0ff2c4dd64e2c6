/** From what a schedule says to the row of a timer, an alarm, an intent or work. Pure; refuses with all reasons at once. */
import { describe, hasOffset, isZone, zoneError } from '../../../packages/schedule/src/index.ts'
import { Refusal } from '../../core/errors.ts'
import { FOLLOWS } from '../../core/fields.ts'
import { newId } from '../../core/ids.ts'
import { MAIN_THREAD, ownerDidOf, type SessionRef, sessionOf } from '../../core/session.ts'
import { type AlarmPlan, type NewAlarm, newAlarm } from '../alarms/draft.ts'
import { validateIntent } from '../intents/checks.ts'
import {
  type IntentDraft,
  type IntentPlan,
  intentWish,
  planIntent,
  termsFrom,
} from '../intents/draft.ts'
import { scheduleWords } from '../intents/rules.ts'
import { type NewWork, newWork, type WorkRules, workErrors } from '../work/draft.ts'
import { frequencyWords, type WorkPlan } from '../work/rules.ts'
import type { WireSpec } from './fields.ts'
import { onceOf, rhythmOf, timesOf, untilOf } from './times.ts'
import { triggerOf } from './when.ts'

export const SCHEDULE_KINDS = ['timer', 'alarm', 'intent', 'work'] as const
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number]

/** What is written. */
export type ScheduleWrite =
  | {
      readonly kind: 'timer'
      readonly id: string
      readonly session: SessionRef
      readonly fireAt: Date
      readonly payload: string | null
    }
  | { readonly kind: 'alarm'; readonly id: string; readonly row: NewAlarm }
  | {
      readonly kind: 'intent'
      readonly id: string
      readonly draft: IntentDraft
      readonly plan: IntentPlan
    }
  | {
      readonly kind: 'work'
      readonly id: string
      readonly row: NewWork
      /** A run is queued with it. */
      readonly runsNow: boolean
    }

export interface SchedulePlan {
  readonly name: string
  readonly timezone: string
  readonly description: string
  readonly next: readonly Date[]
  /** Defaults that were assumed, in words. */
  readonly notes: readonly string[]
  readonly write: ScheduleWrite
}

export interface ScheduleOwner {
  readonly userId: string
  /** Null: the wake URL. */
  readonly agentId: string | null
  /** Null: the person's thread main. */
  readonly threadId: string | null
  /** Of the person. */
  readonly timezone: string
  readonly now: Date
  /** Times that have passed are right: they were set before. */
  readonly keepsPast?: boolean
  /** Of one that has no name. */
  readonly title?: string
  readonly id?: string
  readonly work: Pick<WorkRules, 'types' | 'missing' | 'refusesParameters'>
}

interface Asked {
  readonly name: string
  readonly spreadKey: string
  readonly spec: WireSpec
  readonly owner: ScheduleOwner
  readonly timezone: string
  readonly errors: string[]
}

/** Throws a `Refusal` with all reasons. */
export function planSchedule(name: string, spec: WireSpec, owner: ScheduleOwner): SchedulePlan {
  const zone = spec.timezone === FOLLOWS ? owner.timezone : (spec.timezone ?? owner.timezone)
  const errors = isZone(zone) ? [] : [zoneError(zone)]
  const spreadKey = name === '' ? (owner.id ?? '') : name
  const asked = { name, spreadKey, spec, owner, errors, timezone: isZone(zone) ? zone : 'UTC' }
  errors.push(...misfits(spec))
  const planned = errors.length > 0 ? null : planKind(asked)
  if (planned === null || errors.length > 0) throw new Refusal('rule', errors)
  return { name, timezone: zone, ...planned }
}

export function kindOf(spec: WireSpec): ScheduleKind {
  if (spec.run !== undefined) return 'work'
  if (spec.when !== undefined) return 'intent'
  return spec.cancel_on_reply === true ? 'timer' : 'alarm'
}

/** What a kind cannot keep, with what could be meant. */
const LACKS: Readonly<Record<ScheduleKind, readonly (keyof WireSpec)[]>> = {
  timer: [
    ...(['every', 'with', 'until', 'times', 'catch_up', 'catch_up_within_seconds'] as const),
    ...(['priority', 'spread'] as const),
  ],
  alarm: ['with'],
  intent: ['with', 'cancel_on_reply', 'spread'],
  work: ['when', 'cancel_on_reply', 'data', 'priority'],
}
const NAMES: Readonly<Record<ScheduleKind, string>> = {
  timer: 'cancel_on_reply',
  alarm: 'a wake at a time',
  intent: 'when',
  work: 'run',
}

/** A time that means the same instant everywhere does not move with the person. */
function followsZone({ timezone, at, every }: WireSpec): boolean {
  return (
    timezone === FOLLOWS &&
    (every !== undefined || (!/^\s*in\b/i.test(at ?? 'in') && !hasOffset(at ?? '')))
  )
}

function misfits(spec: WireSpec): string[] {
  const kind = kindOf(spec)
  const said = (field: keyof WireSpec) => spec[field] !== undefined && spec[field] !== false
  const errors = LACKS[kind]
    .filter(said)
    .map((field) => `${field}: does not go with ${NAMES[kind]}`)
  const repeats = spec.every !== undefined || spec.when !== undefined
  for (const field of ['until', 'times'] as const)
    if (kind !== 'timer' && said(field) && !repeats)
      errors.push(`${field}: goes with every or when`)
  if (spec.thread === 'fresh' && kind !== 'alarm')
    errors.push(`thread: "fresh" does not go with ${NAMES[kind]}`)
  return errors
}

type Kind = Omit<SchedulePlan, 'name' | 'timezone'>

function planKind(asked: Asked): Kind | null {
  switch (kindOf(asked.spec)) {
    case 'timer':
      return planTimer(asked)
    case 'alarm':
      return planAlarm(asked)
    case 'intent':
      return planWhen(asked)
    case 'work':
      return planRun(asked)
  }
}

const threadOf = ({ owner }: Asked) => owner.threadId ?? MAIN_THREAD

function planTimer(asked: Asked): Kind | null {
  const { spec, owner, errors, timezone } = asked
  const time = onceOf(asked)
  if (owner.agentId === null) errors.push('cancel_on_reply: takes an agent that runs here')
  if (time === null || owner.agentId === null) return null
  const session = sessionOf(owner.userId, owner.agentId, threadOf(asked))
  const { at: fireAt, notes } = time
  const note = spec.note === undefined ? [] : [`"note":${JSON.stringify(spec.note)}`]
  const data = spec.data === undefined ? [] : [`"data":${spec.data.text}`]
  const members = [...note, ...data]
  const payload = members.length === 0 ? null : `{${members.join(',')}}`
  const description = `${describe({ kind: 'once', at: fireAt.getTime(), timezone })}, unless the person writes first`
  return {
    description,
    next: [fireAt],
    notes,
    write: { kind: 'timer', id: newId(), session, fireAt, payload },
  }
}

function planAlarm(asked: Asked): Kind | null {
  const { name, spec, owner, timezone } = asked
  const { now, userId, agentId } = owner
  const rhythm = spec.every === undefined ? null : rhythmOf(asked)
  const time = spec.every === undefined ? onceOf(asked) : rhythm
  if (time === null) return null
  const plan: AlarmPlan = {
    kind: rhythm === null ? 'once' : 'cron',
    fireAt: rhythm === null ? time.at : null,
    cronExpr: rhythm?.parsed.canonical ?? '',
    nextFireAt: time.at,
    anchorAt: now,
    notes: time.notes,
  }
  const fresh = spec.thread === 'fresh' || (agentId === null && owner.threadId === null)
  const draft = {
    ...{ id: newId(), ownerDid: ownerDidOf(userId), userId, agentId, name },
    timing: { type: 'at', at: time.at } as const,
    followsZone: followsZone(spec),
    ...(spec.priority === undefined ? {} : { priority: spec.priority }),
    fields: {
      ...{ timezone, label: owner.title ?? name, idempotency_key: '', unattended: 'ask' as const },
      conversation_id: fresh ? '' : threadOf(asked),
      wake_message: spec.note ?? owner.title ?? name,
      payload: spec.data,
      catch_up: spec.catch_up ?? ('once' as const),
      catch_up_within_seconds: spec.catch_up_within_seconds,
    },
  }
  const row = newAlarm(draft, plan)
  const once = { kind: 'once', at: time.at.getTime(), timezone } as const
  return {
    description: describe(rhythm?.parsed.schedule ?? once),
    next: rhythm === null ? [time.at] : timesOf(rhythm.parsed, now),
    notes: time.notes,
    write: { kind: 'alarm', id: row.id, row },
  }
}

function planWhen(asked: Asked): Kind | null {
  const { name, spec, owner, errors, timezone } = asked
  const { userId, agentId, now } = owner
  const trigger = triggerOf(spec, timezone, now, errors)
  const expires = spec.until === undefined ? undefined : untilOf(asked)
  if (trigger === null || errors.length > 0) return null
  const wish = intentWish({
    ...{
      intent_name: owner.title ?? name,
      action_type: 'notify',
      enabled: true,
      timezone,
      follows_zone: spec.timezone === FOLLOWS,
      unattended: 'ask',
    },
    ...{ agent_id: agentId, thread_id: threadOf(asked), ...trigger },
    action_context: spec.note ?? scheduleWords({ ...trigger, trigger_schedule: {}, timezone }),
    action_priority: spec.priority ?? 'normal',
    expires_at: expires === undefined ? null : new Date(expires).toISOString(),
    max_executions: spec.times ?? null,
    metadata: spec.data,
    catch_up: spec.catch_up ?? 'once',
    catch_up_within_seconds: spec.catch_up_within_seconds ?? null,
  })
  const terms = termsFrom(wish, now)
  errors.push(...validateIntent(terms, now))
  const draft = { id: newId(), userId, createdBy: agentId ?? userId, wish, name }
  return {
    description: scheduleWords(terms),
    next: [],
    notes: [],
    write: { kind: 'intent', id: draft.id, draft, plan: planIntent(wish, now) },
  }
}

function planRun(asked: Asked): Kind | null {
  const { name, spec, owner, errors, timezone } = asked
  const { userId, agentId, now } = owner
  const parameters = spec.with
  const told = { whom: '', refuses: () => null }
  const checked = {
    agent_type: spec.run ?? '',
    ...(parameters === undefined ? {} : { parameters }),
  }
  const wrong = workErrors(checked, { ...owner.work, userId, told })
  errors.push(
    ...wrong.map((text) => text.replace(/^agent_type:/, 'run:').replace(/^parameters/, 'with')),
  )
  const recurring = spec.every === undefined ? null : rhythmOf(asked)
  const timed = spec.in !== undefined || spec.at !== undefined
  const once = timed ? onceOf(asked) : null
  if (errors.length > 0) return null
  const time = recurring ?? once
  const plan: WorkPlan = {
    frequency: recurring === null ? 'once' : (spec.every ?? ''),
    frequency_cron: recurring?.parsed.canonical ?? null,
    timezone,
    // Of work that runs once this is its time, which a pause keeps.
    anchor_at: once?.at ?? now,
    is_active: time !== null,
    next_run_at: time?.at ?? null,
    notes: time?.notes ?? [],
  }
  const fields = {
    ...{
      task: spec.note ?? owner.title ?? name,
      agent_type: spec.run ?? '',
      frequency: plan.frequency,
      timezone,
    },
    ...{ run_first: false, notify: true, parameters },
    catch_up: spec.catch_up ?? ('once' as const),
    catch_up_within_seconds: spec.catch_up_within_seconds,
    ...(agentId === null
      ? {}
      : { notify_session: sessionOf(userId, agentId, threadOf(asked)).key }),
  }
  const { notes, ...state } = plan
  const row = newWork(
    { id: newId(), userId, agentId, fields, name, followsZone: followsZone(spec) },
    plan,
  )
  const description = recurring
    ? frequencyWords(state)
    : describe({ kind: 'once', at: (once?.at ?? now).getTime(), timezone })
  const times = recurring ? timesOf(recurring.parsed, now) : [once?.at ?? now]
  return {
    description,
    next: times,
    notes,
    write: { kind: 'work', id: row.id, row, runsNow: time === null },
  }
}
