/**
 * Rows of other systems' tables as calls of this one: alarms, scheduled_intents and work_tickets in the shapes they have there. Pure: a
 * row becomes a call, is left out with the reason, or is wrong with all reasons, before anything is sent.
 */
import { createHash } from 'node:crypto'
import { type Actor, type Operation, prepare } from '../../../src/api/contract.ts'
import { operations } from '../../../src/app/operations.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { planAlarm, timingOf } from '../../../src/features/alarms/draft.ts'
import { validateIntent } from '../../../src/features/intents/checks.ts'
import { intentWish, termsFrom } from '../../../src/features/intents/draft.ts'
import type { IntentFields } from '../../../src/features/intents/fields.ts'
import { planWork } from '../../../src/features/work/rules.ts'
import { JsonError, type RawJson, readJson } from '../../exact-json/src/index.ts'
import { ScheduleError } from '../../schedule/src/index.ts'

export const SHAPES = ['alarms', 'scheduled_intents', 'work_tickets'] as const
export type Shape = (typeof SHAPES)[number]

export interface Call {
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  /** Whom to act for; null where the input says whose it is. */
  readonly actAs: string | null
  /** The same row again is the same call. */
  readonly idempotencyKey: string
  /** It is to wait, as it did there. */
  readonly paused: boolean
  readonly title: string
}

export type Read =
  | { readonly call: Call }
  | { readonly leftOut: string }
  | { readonly wrong: readonly string[] }

export interface Importing {
  readonly now: Date
  /** Who is woken; null: as without an agent. */
  readonly agent: string | null
}

type Row = Readonly<Record<string, unknown>>

/** Kept verbatim. */
const OPAQUE: ReadonlySet<string> = new Set(['payload', 'metadata', 'parameters'])

export function readRow(shape: Shape, line: string, importing: Importing): Read {
  try {
    const given = readJson(line, OPAQUE)
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      return { wrong: ['is no JSON object'] }
    return READERS[shape](withoutEmpty(given as Row), line, importing)
  } catch (error) {
    if (error instanceof Refusal) return { wrong: error.errors }
    if (error instanceof JsonError || error instanceof ScheduleError)
      return { wrong: [error.message] }
    throw error
  }
}

/** An empty column says nothing. */
function withoutEmpty(row: Row): Row {
  const isEmpty = (value: unknown) =>
    value === null || value === '' || (value as Partial<RawJson> | null)?.text === 'null'
  return Object.fromEntries(Object.entries(row).filter(([, value]) => !isEmpty(value)))
}

/** The fields of that name which are there. */
function some(row: Row, names: readonly string[]): Row {
  return Object.fromEntries(names.flatMap((name) => (name in row ? [[name, row[name]]] : [])))
}

/** As a database prints it: a blank instead of the T, an offset without minutes. */
function instant(value: unknown): string {
  return String(value)
    .replace(/^(\d{4,6}-\d\d-\d\d) /, '$1T')
    .replace(/([+-]\d\d)$/, '$1:00')
}

function keyOf(row: Row, line: string): string {
  const id = typeof row.id === 'string' ? row.id : createHash('sha256').update(line).digest('hex')
  return `import-${id}`.replaceAll(/[^\x21-\x7e]/g, '_').slice(0, 128)
}

/** Who writes what is read here. */
export const ADMIN: Actor = {
  role: 'admin',
  keyId: null,
  userId: null,
  ownerDid: null,
  agentId: null,
  actAs: false,
}

export function operationOf(operation: string): Operation {
  const op = operations.find(({ name }) => name === operation)
  if (op === undefined) throw new Error(`there is no operation ${operation}`)
  return op
}

/** Throws all that the shape has against it. */
function checked(operation: string, input: Row): Row {
  const op = operationOf(operation)
  return prepare(op, ADMIN, { params: {}, query: {}, body: input }).body as Row
}

type Reader = (row: Row, line: string, importing: Importing) => Read

/** Times mean what they meant where a row comes from, whatever the zone of the person is here. */
const THERE = { timezone: 'UTC' }

const READERS: Readonly<Record<Shape, Reader>> = {
  alarms(row, line, { now, agent }) {
    if (row.status !== undefined && row.status !== 'active')
      return { leftOut: `its status is ${row.status}` }
    const key = keyOf(row, line)
    const isOnce = row.kind !== 'cron'
    const at = instant(row.fire_at ?? row.next_fire_at)
    if (isOnce && new Date(at) <= now) return { leftOut: `its time has passed (${at})` }
    const input = {
      ...THERE,
      idempotency_key: key,
      kind: isOnce ? 'once' : 'cron',
      ...(isOnce ? { fire_at: at } : some(row, ['cron_expr'])),
      ...some(row, ['label', 'timezone', 'conversation_id', 'wake_message', 'payload']),
      ...some(row, ['idempotency_key', 'max_failures']),
      ...(agent === null ? {} : { agent_id: agent }),
    }
    const body = checked('set_alarm', input)
    const timezone = String(body.timezone)
    planAlarm({ timing: timingOf(body, timezone), timezone }, now)
    const owner = row.owner_did ?? row.user_id
    const title = String(row.label ?? row.wake_message)
    const actAs = owner === undefined ? null : String(owner)
    return {
      call: { operation: 'set_alarm', input, actAs, idempotencyKey: key, paused: false, title },
    }
  },

  scheduled_intents(row, line, { now, agent }) {
    const input = {
      ...THERE,
      ...some(row, ['user_id', 'intent_name', 'description', 'trigger_type', 'trigger_schedule']),
      ...some(row, ['trigger_condition', 'action_type', 'action_context', 'action_priority']),
      ...some(row, ['enabled', 'max_executions', 'metadata', 'timezone', 'created_by']),
      ...('expires_at' in row ? { expires_at: instant(row.expires_at) } : {}),
      ...(agent === null ? {} : { agent_id: agent }),
    }
    const body = checked('create_intent', input) as unknown as IntentFields
    // One that is switched off may be over: nothing is asked of its times.
    const errors = body.enabled ? validateIntent(termsFrom(intentWish(body), now), now) : []
    if (errors.length > 0) return { wrong: errors }
    const used = Number(row.execution_count ?? 0)
    const most = Number(row.max_executions ?? Number.POSITIVE_INFINITY)
    if (used >= most) return { leftOut: `it has run ${used} of ${most} times` }
    const left = most === Number.POSITIVE_INFINITY ? {} : { max_executions: most - used }
    return {
      call: {
        operation: 'create_intent',
        input: { ...input, ...left },
        actAs: null,
        idempotencyKey: keyOf(row, line),
        paused: false,
        title: String(row.intent_name),
      },
    }
  },

  work_tickets(row, line, { now }) {
    const frequency = row.frequency_cron ?? row.frequency ?? 'once'
    if (frequency === 'once') return { leftOut: 'it runs once, so nothing is ahead of it' }
    const input = {
      ...THERE,
      ...some(row, ['user_id', 'task', 'agent_type', 'timezone', 'project_id', 'parameters']),
      frequency,
      run_first: false,
    }
    const body = checked('create_work', input) as { frequency: string; timezone: string }
    const errors: string[] = []
    planWork(body, now, errors)
    if (errors.length > 0) return { wrong: errors }
    return {
      call: {
        operation: 'create_work',
        input,
        actAs: null,
        idempotencyKey: keyOf(row, line),
        paused: row.is_active === false,
        title: String(row.task),
      },
    }
  },
}
