/** What is told of something that happened, in the words of MCP Events. Pure. */
import { RawJson, readJson } from '../../exact-json/src/index.ts'
import { type Cursor, cursorBehind, writeCursor } from './cursor.ts'
import type { EventName } from './event-types.ts'

/** A row that something is told of. */
export interface Occurrence {
  readonly id: string
  readonly at: Date
  readonly kind: 'alarm' | 'intent' | 'work' | 'message'
  readonly session_key: string
  readonly trigger_id: string | null
  readonly scheduled_for: Date
  /** JSON text. */
  readonly payload: string
  /** Of a message. */
  readonly reason?: string
  readonly event_seq?: number
  /** How many messages of its session are as new. */
  readonly tail?: number
  /** Of an output. */
  readonly run_number?: number
  readonly status?: string
  readonly title?: string | null
  readonly content?: string | null
  readonly error_message?: string | null
  readonly file_url?: string | null
  readonly missed_count?: number
}

export interface ToldEvent {
  readonly eventId: string
  readonly name: EventName
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
  readonly cursor: string
}

/** What its owner wrote is handed on as it stands. */
const VERBATIM: ReadonlySet<string> = new Set(['payload', 'trigger_data'])
const NOTHING = new RawJson('null')

export function tell(name: EventName, row: Occurrence): ToldEvent {
  const cursor: Cursor = cursorBehind(row)
  return {
    eventId: row.id,
    name,
    timestamp: row.at.toISOString(),
    data: DATA[name](row, readJson(row.payload, VERBATIM, 1) as Record<string, unknown>),
    cursor: writeCursor(cursor),
  }
}

type Data = (
  row: Occurrence,
  said: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, unknown>>

const DATA: Readonly<Record<EventName, Data>> = {
  'alarm.due': (row, said) => ({
    ...{ alarm_id: said.alarm_id, label: said.label, wake_message: said.wake_message },
    payload: said.payload ?? NOTHING,
    ...slotOf(row, said.missed_count),
    ...whoseOf(row),
  }),
  'intent.met': (row, said) => ({
    ...{ intent_id: said.intent_id, intent_name: said.intent_name },
    ...{ trigger_type: said.trigger_type, trigger_data: said.trigger_data ?? NOTHING },
    action_context: said.action_context,
    ...slotOf(row, said.missed_count),
    ...whoseOf(row),
  }),
  'slot.missed': (row, said) => ({
    ...{ trigger: row.kind, trigger_id: row.trigger_id, name: nameOf(said) },
    ...slotOf(row, said.missed_count),
    ...whoseOf(row),
  }),
  'message.for_person': (row, said) => ({
    ...{ message_id: row.id, session_key: row.session_key, content: said.content ?? '' },
    ...{ reason: row.reason, in_reply_to: row.event_seq },
    ...whoseOf(row),
  }),
  'work.finished': (row) => ({
    ...{ work_id: row.trigger_id, output_id: row.id, run_number: row.run_number },
    ...{ status: row.status, title: row.title, content: row.content, error: row.error_message },
    file_url: row.file_url,
    ...slotOf(row, row.missed_count),
    ...{ user_id: whoseOf(row).user_id, agent_type: whoseOf(row).agent_id },
  }),
}

function slotOf({ scheduled_for }: Occurrence, missed: unknown) {
  return { scheduled_for: scheduled_for.toISOString(), missed_count: Number(missed ?? 0) }
}

function whoseOf({ session_key: key }: Occurrence) {
  const [user_id = '', agent_id = '', thread_id = ''] = key.split(':')
  return { user_id, agent_id, thread_id }
}

function nameOf(said: Readonly<Record<string, unknown>>): string {
  const { label, wake_message, intent_name, task } = said
  const named = [label, wake_message, intent_name, task].find(
    (text) => typeof text === 'string' && text !== '',
  )
  return typeof named === 'string' ? named.slice(0, NAME_MAX) : ''
}
const NAME_MAX = 200

/** Some of what happened is not told any more: from this cursor on it goes on. */
export function gapAt(cursor: string): string {
  return JSON.stringify({ type: 'gap', cursor })
}

/** What the older draft calls Forbidden. */
const FORBIDDEN = -32_012

/** The last word to a receiver. */
export function terminated(why: string): string {
  const error = { code: FORBIDDEN, message: `the subscription has ended: ${why}` }
  return JSON.stringify({ type: 'terminated', error })
}
