/** The events that an agent sees, each with its payload's type. */
import type { EventType } from '../core/session.ts'
import type { TriggerType } from '../features/intents/rules.ts'
import type { AnsweredQuestion } from '../features/questions/rules.ts'

/** Slots that passed without an event of their own; the first and the last of them. */
export interface MissedSlots {
  readonly count: number
  readonly from: string
  readonly to: string
}

/** What every event of a schedule may say. Instants are texts in UTC. */
interface Due {
  readonly scheduled_for: string
  readonly missed_count: number
  readonly missed?: MissedSlots
  /** Nobody watches: a question takes its default at once. */
  readonly unattended?: 'default'
  /** It waited for its moment, by this rule of the person. */
  readonly deferred?: { readonly from: string; readonly rule: string; readonly seen?: unknown }
}

export interface UserMessagePayload {
  readonly text: string
  /** The question that it answers. */
  readonly question?: AnsweredQuestion
}
export interface TimerPayload {
  /** The name it was scheduled under. */
  readonly timer_id: string
  /** Of `turn.schedule`: its note and data. */
  readonly payload?: { readonly note?: string; readonly data?: unknown } | null
}
export interface ToolResultPayload {
  readonly tool_id: string
  readonly payload?: unknown
  readonly question?: AnsweredQuestion
}
export interface AlarmPayload extends Due {
  readonly alarm_id: string
  /** The name it was scheduled under. */
  readonly label: string
  /** The note. */
  readonly wake_message: string
  /** The data. */
  readonly payload: unknown
  /** From 1. */
  readonly attempt: number
  readonly priority?: 'low' | 'high' | 'critical'
}
export interface IntentPayload extends Due {
  readonly intent_id: string
  /** The name it was scheduled under. */
  readonly intent_name: string
  readonly action_type: string
  /** The note. */
  readonly action_context: string
  readonly action_priority: 'low' | 'normal' | 'high' | 'critical'
  readonly trigger_type: TriggerType
  /** What was seen when it became true. */
  readonly trigger_data: Readonly<Record<string, unknown>> | null
  /** The data. */
  readonly metadata: unknown
}
/** A run of work has ended. Its person is told so without the agent, unless the agent reads it here. */
export interface WorkPayload {
  readonly work_id?: string
  readonly run_number?: number
  readonly agent_type?: string
  readonly title?: string
  readonly excerpt?: string
  readonly text?: string
  readonly file_url?: string | null
  readonly failed?: boolean
  readonly recovered?: boolean
  readonly notice?: true
}
export interface DigestItem {
  readonly kind: 'alarm' | 'intent' | 'work'
  readonly id: string | null
  readonly name: string
  readonly scheduled_for: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly rule: string
}
/** What waited for its moment, as one event. */
export interface DigestPayload {
  readonly items: readonly DigestItem[]
  /** How many are not among the items. */
  readonly more: number
  /** All of it in words. */
  readonly text: string
}

interface Payloads {
  readonly user_message: UserMessagePayload
  readonly timer: TimerPayload
  readonly tool_result: ToolResultPayload
  readonly alarm: AlarmPayload
  readonly intent: IntentPayload
  readonly work: WorkPayload
  readonly digest: DigestPayload
}

/** An event of one type. */
export interface EventOf<T extends EventType> {
  readonly id: string
  readonly seq: number
  readonly type: T
  readonly payload: Payloads[T]
  readonly createdAt: Date
  readonly created_at: Date
}

/** Told apart by `type`. */
export type AgentEvent = { [T in EventType]: EventOf<T> }[EventType]

interface StoredEvent {
  readonly id: string
  readonly seq: number
  readonly type: string
  /** JSON text. */
  readonly payload: string
}

/** Wakeful alone writes events, so a payload is what its type says. */
export function agentEvent({ id, seq, type, payload }: StoredEvent, createdAt: Date): AgentEvent {
  const event = { id, seq, type, payload: JSON.parse(payload), createdAt, created_at: createdAt }
  return event as AgentEvent
}
