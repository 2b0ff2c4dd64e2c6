/** Standing intents as the server shows them, and what their checks saw, in words. Pure. */
import { textIn } from '../api/shapes.ts'
import { timeOf } from '../parts/time.ts'

export type TriggerType =
  | 'cron'
  | 'interval'
  | 'once'
  | 'price'
  | 'silence'
  | 'news'
  | 'event'
  | 'calendar'
  | 'condition'

export interface Intent {
  readonly id: string
  readonly user_id: string
  readonly intent_name: string
  readonly description: string | null
  readonly trigger_type: TriggerType
  readonly trigger_schedule: unknown
  readonly trigger_condition: unknown
  readonly action_type: string
  readonly action_context: string
  readonly action_priority: string
  readonly next_check: string | null
  readonly last_checked: string | null
  readonly last_executed: string | null
  readonly execution_count: number
  readonly last_execution_status: Execution['status'] | null
  readonly last_execution_error: string | null
  readonly enabled: boolean
  readonly expires_at: string | null
  readonly max_executions: number | null
  readonly created_at: string
  readonly timezone: string
  readonly agent_id: string | null
  readonly thread_id: string | null
  readonly schedule_description: string
}

export interface Execution {
  readonly id: string
  readonly executed_at: string
  readonly trigger_type: TriggerType
  readonly trigger_data: unknown
  readonly status: 'success' | 'failed' | 'gate_blocked' | 'condition_not_met'
  readonly message_preview: string | null
  readonly error_message: string | null
  readonly session_key: string | null
  readonly event_seq: number | null
  readonly repeats: number
  readonly last_seen_at: string | null
}

export const TYPE_WORDS: Readonly<Record<TriggerType, string>> = {
  cron: 'recurring',
  interval: 'interval',
  once: 'once',
  price: 'price',
  silence: 'silence',
  news: 'news',
  event: 'event',
  calendar: 'calendar',
  condition: 'condition of the app',
}

export const EXECUTION_WORDS: Readonly<Record<Execution['status'], string>> = {
  success: 'fired',
  failed: 'failed',
  gate_blocked: 'held back',
  condition_not_met: 'not met',
}

export const EXECUTION_TONES: Readonly<Record<Execution['status'], 'own' | 'bad' | 'plain'>> = {
  success: 'own',
  failed: 'bad',
  gate_blocked: 'bad',
  condition_not_met: 'plain',
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined
}

/** "when NVDA < 130": what it waits for. */
export function waitsFor(intent: Intent): string {
  const condition = intent.trigger_condition
  const of = (name: string) => String(memberOf(condition, name) ?? '')
  const keywords = memberOf(condition, 'keywords')
  const words = Array.isArray(keywords) ? keywords.map((word) => `“${word}”`).join(' or ') : ''
  switch (intent.trigger_type) {
    case 'price':
      return `when ${of('ticker')} ${of('operator')} ${of('value')}`
    case 'silence':
      return `when ${intent.user_id} was silent for ${of('threshold_hours')} hours`
    case 'news':
      return `when the news mention ${words}`
    case 'event':
      return memberOf(condition, 'where') === undefined
        ? `when an event mentions ${words}`
        : intent.schedule_description
    case 'calendar':
      return `${of('value') || '15'} minutes before an entry of the calendar`
    default:
      return intent.schedule_description
  }
}

const REASONS: Readonly<Record<string, string>> = {
  became_true: 'it became true',
  cooled_down: 'it is still true, and the cooldown is over',
  new: 'there was something new',
  still_true: 'it was true before, and fires only when it becomes true',
  false: 'it was not true',
  unknown: 'nothing is known of it yet',
  stale: 'what is known of it is too old',
  nothing_new: 'there was nothing new',
}

/** Of a price, what the intent itself says already. */
const ASKED: ReadonlySet<string> = new Set(['reason', 'operator', 'value'])

/** What a check saw: the reason in words, then the facts. */
export function seenWords(data: unknown): string {
  if (typeof data !== 'object' || data === null) return ''
  const reason = textIn(data, 'reason')
  const facts = Object.entries(data)
    .filter(([name, value]) => !ASKED.has(name) && value !== null)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${shown(value)}`)
  const first = reason === undefined ? [] : [REASONS[reason] ?? reason.replaceAll('_', ' ')]
  return [...first, ...facts].join(' · ')
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

function shown(value: unknown): string {
  if (typeof value === 'string' && INSTANT.test(value)) return timeOf(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
