/**
 * Wakeful's tools as a turn carries them out: changes become actions that commit with the turn, or not at all. A refusal is
 * returned as text, so that the model can correct itself.
 */

import * as commands from '../../../src/agents/commands.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { PromiseRequest } from '../../../src/agents/messages.ts'
import type {
  AlarmRequest,
  IntentChangeRequest,
  IntentRequest,
  WorkChangeRequest,
  WorkRequest,
} from '../../../src/agents/requests.ts'
import { errorText, Refusal } from '../../../src/core/errors.ts'
import { alarmFields, alarmTimes } from '../../../src/features/alarms/fields.ts'
import { intentFields } from '../../../src/features/intents/fields.ts'
import { workFields } from '../../../src/features/work/fields.ts'
import { parsePhrase, ScheduleError } from '../../schedule/src/index.ts'
import { placeOf } from './act.ts'
import { type Held, heldRow, heldRows, noSuch, outputsText } from './held.ts'
import { withdraw } from './plans.ts'
import { timeText, whyText } from './replies.ts'

type Given = Readonly<Record<string, unknown>>

interface TurnTool {
  /** The arguments that a turn accepts. */
  readonly takes: readonly string[]
  /** Whether it adds an action to the turn. */
  readonly changes: boolean
  /** Whether it sends a message itself, besides the model's answer. */
  readonly speaks?: boolean
  readonly run: (turn: Turn, given: Given) => string | Promise<string>
}

const listing = (kind: Held): TurnTool => ({
  takes: [],
  changes: false,
  async run(turn) {
    const rows = await heldRows(turn, kind)
    return rows.length === 0 ? 'None.' : rows.map(({ id, text }) => `${id} ${text}`).join('\n')
  },
})

const removing = (kind: Held): TurnTool => ({
  takes: ['id'],
  changes: true,
  async run(turn, { id }) {
    const row = await heldRow(turn, kind, id)
    withdraw(turn, { kind, id: row.id })
    return `Cancelled: ${row.text}.`
  },
})

const changing = (
  kind: 'intent' | 'work',
  takes: readonly string[],
  change: (turn: Turn, id: string, given: Given) => Promise<boolean>,
): TurnTool => ({
  takes: ['id', ...takes],
  changes: true,
  async run(turn, { id, ...given }) {
    const row = await heldRow(turn, kind, id)
    if (!(await change(turn, row.id, given))) throw noSuch(kind)
    return `Changed ${Object.keys(given).join(', ')} of ${kind} ${row.id}, which was: ${row.text}.`
  },
})

/** The fields that people talk about; the others are for programs. */
function without(fields: object, left: readonly string[]): string[] {
  return Object.keys(fields).filter((name) => !left.includes(name))
}

/** Defaults to the user's zone. */
function inZone<T>(turn: Turn, given: Given): T {
  return { ...given, timezone: given.timezone ?? placeOf(turn).timezone } as T
}

const ALARM_TAKES = without({ ...alarmTimes, ...alarmFields }, [
  'conversation_id',
  'payload',
  'idempotency_key',
  'max_failures',
])

export const TURN_TOOLS: Readonly<Record<string, TurnTool>> = {
  promise: {
    takes: ['text', ...ALARM_TAKES],
    changes: true,
    speaks: true,
    run(turn, { text, ...given }) {
      const request = inZone<PromiseRequest>(turn, given)
      const id = commands.promise(turn, text as string, request)
      return `Said, and alarm ${id} set: ${whenOf(turn, request)}, time zone ${request.timezone}. Do not say it again.`
    },
  },
  set_alarm: {
    takes: ALARM_TAKES,
    changes: true,
    run(turn, given) {
      const request = inZone<AlarmRequest>(turn, given)
      const id = commands.setAlarm(turn, request)
      return `Set alarm ${id}: ${whenOf(turn, request)}, time zone ${request.timezone}.`
    },
  },
  create_intent: {
    takes: without(intentFields, ['enabled', 'metadata', 'agent_id', 'thread_id']),
    changes: true,
    async run(turn, given) {
      return `Created intent ${await commands.createIntent(turn, inZone<IntentRequest>(turn, given))}.`
    },
  },
  create_work: {
    takes: without(workFields, ['project_id']),
    changes: true,
    run(turn, given) {
      const parameters = { ...objectOf(given.parameters) }
      const id = commands.createWork(turn, { ...inZone<WorkRequest>(turn, given), parameters })
      return `Created work ${id}. Its results are told in this conversation.`
    },
  },
  update_intent: changing(
    'intent',
    without(intentFields, ['metadata', 'agent_id', 'thread_id']),
    (turn, id, given) => commands.updateIntent(turn, id, given as IntentChangeRequest),
  ),
  update_work: changing('work', ['is_active', 'frequency', 'timezone', 'task'], (turn, id, given) =>
    commands.updateWork(turn, id, given as WorkChangeRequest),
  ),
  get_alarm: {
    takes: ['id'],
    changes: false,
    run: async (turn, { id }) => (await heldRow(turn, 'alarm', id)).text,
  },
  get_work: {
    takes: ['id'],
    changes: false,
    async run(turn, { id }) {
      const row = await heldRow(turn, 'work', id)
      const outputs = (await turn.workOutputs(row.id)) ?? []
      return `${row.text}\n\n${outputsText(outputs, turn)}`
    },
  },
  list_alarms: listing('alarm'),
  list_intents: listing('intent'),
  list_work: listing('work'),
  cancel_alarm: removing('alarm'),
  delete_intent: removing('intent'),
  delete_work: removing('work'),
  preview_schedule: {
    takes: ['schedule', 'timezone'],
    changes: false,
    run(turn, given) {
      const { schedule, timezone } = inZone<{ schedule?: unknown; timezone: string }>(turn, given)
      const place = { ...placeOf(turn), timezone }
      const parsed = parsePhrase(String(schedule ?? ''), { timezone, now: place.now.getTime() })
      return timeText(parsed, place)
    },
  },
  explain: {
    takes: [],
    changes: false,
    run: async (turn) => whyText(await turn.explained(), placeOf(turn)),
  },
}

/** Models sometimes send an object as JSON text. */
function objectOf(given: unknown): object {
  const value: unknown = typeof given === 'string' ? JSON.parse(given) : (given ?? {})
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('parameters must be an object')
  return value
}

function whenOf(
  turn: Turn,
  { schedule, fire_at, delay_seconds, cron_expr, timezone }: PromiseRequest,
): string {
  if (schedule === undefined) return String(fire_at ?? cron_expr ?? `in ${delay_seconds} seconds`)
  const place = { ...placeOf(turn), timezone: timezone ?? 'UTC' }
  return timeText(
    parsePhrase(schedule, { timezone: place.timezone, now: place.now.getTime() }),
    place,
  )
}

export interface Used {
  readonly said: string
  readonly changed: boolean
}

export async function useTool(turn: Turn, name: string, json: string): Promise<Used> {
  const tool = Object.hasOwn(TURN_TOOLS, name) ? TURN_TOOLS[name] : undefined
  if (tool === undefined) return { said: `There is no tool ${name}.`, changed: false }
  try {
    return { said: await tool.run(turn, argumentsOf(json)), changed: tool.changes }
  } catch (error) {
    // Report the model's mistakes to it; anything else is our own bug.
    if (error instanceof Refusal) return refused(error.errors)
    if (error instanceof ScheduleError) return refused(error.errors)
    if (error instanceof TypeError || error instanceof SyntaxError)
      return refused([errorText(error, 500)])
    throw error
  }
}

function refused(errors: readonly string[]): Used {
  const list = errors.map((error) => `- ${error}`).join('\n')
  return { said: `Refused, nothing was changed:\n${list}`, changed: false }
}

/** Drops null fields: models send every field they know. */
function argumentsOf(json: string): Given {
  const given: unknown = JSON.parse(json)
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new TypeError('arguments must be an object')
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}
