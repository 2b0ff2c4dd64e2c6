/** An intent on its way to a row: what was asked for, in the words of its columns, JSON as text. Pure. */
import { instantIn } from '../../../packages/schedule/src/index.ts'
import type { RowOf } from '../../core/columns.ts'
import { validateIntent } from './checks.ts'
import type { INTENT_PLAN, IntentFields } from './fields.ts'
import {
  firstCheck,
  type IntentTerms,
  isConditionType,
  isExpired,
  onceAt,
  termsOf,
} from './rules.ts'

/** What an owner says of an intent, as it is kept, with when it is looked at next. */
export type IntentPlan = RowOf<typeof INTENT_PLAN>
export type IntentWish = Omit<IntentPlan, 'anchor_at' | 'next_check'> & {
  /** Of one that has fired already. */
  readonly fired_local?: string | null
}

export interface IntentDraft {
  readonly id: string
  readonly userId: string
  readonly createdBy: string
  readonly wish: IntentWish
  /** Of a schedule: unique for its person and agent. */
  readonly name?: string
  /** The trace it was made in. */
  readonly traceparent?: string | null
  /** Written by the server: see `limits/lineage.ts`. */
  readonly lineage?: string | null
}

/** What a turn may ask of intents. */
export type IntentAsk =
  | { readonly create_intent: IntentDraft }
  | { readonly delete_intent: string }
  | { readonly update_intent: string; readonly change: IntentSaid }

const NOTHING = {
  description: null,
  trigger_schedule: null,
  trigger_condition: null,
  expires_at: null,
  max_executions: null,
  metadata: '{}',
  agent_id: null,
  thread_id: null,
  catch_up_within_seconds: null,
  follows_zone: false,
}

/** Of an intent, as much as was said. */
export type IntentSaid = { readonly [K in keyof IntentFields]?: IntentFields[K] | undefined } & {
  /** Its zone is the person's, also after they have moved. */
  readonly follows_zone?: boolean
}
type New = IntentSaid & Omit<IntentFields, keyof typeof NOTHING>

/** As the database keeps it. What is left out stays as it was before; null empties what may be empty. */
export function intentWish(said: New): IntentWish
export function intentWish(said: IntentSaid, before: IntentWish): IntentWish
export function intentWish(said: IntentSaid, before: Partial<IntentWish> = NOTHING): IntentWish {
  const { trigger_schedule, trigger_condition, expires_at, metadata, ...plain } = said
  const zone = said.timezone ?? before.timezone ?? 'UTC'
  const columns = {
    ...plain,
    follows_zone: said.timezone === undefined ? undefined : (said.follows_zone ?? false),
    trigger_schedule: jsonOf(trigger_schedule),
    trigger_condition: jsonOf(trigger_condition),
    expires_at: typeof expires_at === 'string' ? instantIn(expires_at, zone) : expires_at,
    metadata: metadata?.text === 'null' ? NOTHING.metadata : metadata?.text,
  }
  const given = Object.entries(columns).filter(([, value]) => value !== undefined)
  return { ...before, ...Object.fromEntries(given) } as IntentWish
}

/** JSON of an object's members, without those that are null. */
function jsonOf(value: object | null | undefined): string | null | undefined {
  if (value === null || value === undefined) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return JSON.stringify(Object.fromEntries(kept))
}

/** What its trigger says, as if it began at `anchor`. */
export function termsFrom(wish: IntentWish, anchor: Date): IntentTerms {
  const fresh = { execution_count: 0, next_check: null, scheduled_for: null }
  return termsOf({ ...wish, ...fresh, anchor_at: anchor })
}

/** With when it is looked at first. */
export function planIntent(wish: IntentWish, now: Date, anchor = now): IntentPlan {
  const terms = termsFrom(wish, anchor)
  // A turn's commit comes later than its asking: what was ahead then still fires, at once.
  const late = wish.trigger_type === 'once' ? onceAt(terms) : null
  const next_check = wish.enabled ? (firstCheck(terms, now) ?? late) : null
  return { ...wish, anchor_at: anchor, next_check }
}

export interface IntentChange {
  readonly plan: IntentPlan
  /** What it remembers of its condition begins again. */
  readonly fresh: boolean
  /** It counts against the limit from now on, and did not before. */
  readonly enabling: boolean
}

/** What another trigger, zone or a new start makes to be reckoned again. */
function touches(row: IntentPlan, wish: IntentWish, now: Date) {
  const schedule = row.trigger_schedule !== wish.trigger_schedule
  const condition = row.trigger_condition !== wish.trigger_condition
  const type = row.trigger_type !== wish.trigger_type
  const waitsAnew = condition && isConditionType(wish.trigger_type)
  const timing = schedule || type || row.timezone !== wish.timezone || waitsAnew
  // What has expired does not count against the limit, so to give it more time is to enable it again.
  const revived = isExpired(row, now) && !isExpired(wish, now)
  const enabling = wish.enabled && (!row.enabled || revived)
  // A grid of its own begins with a schedule of its own; a pause keeps it.
  return { timing, condition, enabling, grid: schedule || type }
}

/** What is wrong with the wish goes to `errors`. */
export function changeIntent(
  row: IntentPlan,
  wish: IntentWish,
  now: Date,
  errors: string[],
): IntentChange {
  const { timing, condition, enabling, grid } = touches(row, wish, now)
  const anchor = grid ? now : row.anchor_at
  // Whatever its times are by now, it can be renamed.
  if (timing || condition || enabling) errors.push(...validateIntent(termsFrom(wish, anchor), now))
  const again = timing || enabling
  const kept = { ...wish, anchor_at: anchor, next_check: wish.enabled ? row.next_check : null }
  return {
    plan: again ? planIntent(wish, now, anchor) : kept,
    fresh: again || condition,
    enabling,
  }
}
