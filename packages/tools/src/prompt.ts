/**
 * What a model is told of its turn: the time, the weekday and the zone of the person, and why it runs: what was scheduled, when and by
 * whom it was set, how late it is and what was missed.
 */
import type { TurnInput } from '../../../src/agents/agent.ts'
import { type Cause, causeOf } from '../../../src/agents/cause.ts'
import { Turn } from '../../../src/agents/function.ts'
import { fromNow } from '../../../src/core/span.ts'
import { storableText } from '../../../src/core/text.ts'
import { dayAndTime } from '../../../src/core/words.ts'
import { readLineage } from '../../../src/features/limits/lineage.ts'
import { turnPerson } from '../../../src/features/people/person.ts'
import { isPrompted } from './turn-tools.ts'

const QUOTED_MAX = 300
/** As anywhere: what is up to 15 minutes late counts as on time. Models are told from one minute on. */
const LATE_MS = 60_000

type Told = Pick<TurnInput, 'event' | 'session' | 'db' | 'startedAt' | 'person'>
type Payload = Readonly<Record<string, unknown>>

/** Lines in brackets, which stand before the words of the event. */
export async function promptOf(input: Told): Promise<string> {
  const { event, startedAt } = input
  const now = `[${nowText(input)}]`
  if (event.type === 'user_message') return now
  const { timezone } = personOf(input)
  const cause = await causeOf(input)
  const payload = (JSON.parse(event.payload) ?? {}) as Payload
  return `${now}\n[${causeText(event.type, payload, cause, { timezone, now: startedAt })}]`
}

/** The message to a model that begins a turn: the time, why it runs, the words of the event, and how to be silent. */
export async function promptFor(
  turn: Turn,
  words = [...turn.merged, turn.event].map(wordsOf).join('\n'),
): Promise<string> {
  const prompt = await promptOf(Turn.inside(turn).input)
  const choice = isPrompted(turn) ? '' : `\n\n${CHOICE}`
  const remark = turn.remark === null ? '' : `\n\n[${turn.remark}]`
  return `${prompt}\n${words}${choice}${remark}`
}

/** An event in words. */
export function wordsOf({ type, payload }: { type: string; payload: unknown }): string {
  const said = (payload ?? {}) as Payload
  switch (type) {
    case 'user_message':
      return String(said.text)
    case 'timer':
      return carried(said.payload)
    case 'alarm':
      return `${said.wake_message}${carried(said.payload)}`
    case 'intent':
      return `${said.action_context}${carried(said.trigger_data)}`
    case 'tool_result':
      return carried(said.question ?? said.payload)
    case 'digest':
      return String(said.text)
    default:
      return carried(payload)
  }
}

const CHOICE =
  '[The user has not written. Call send_message to write to them, or stay_silent. What you write outside of these tools is not delivered.]'

function carried(payload: unknown): string {
  const text = JSON.stringify(payload ?? {})
  return text === '{}' ? '' : `\n${text}`
}

function personOf({ person, startedAt }: Pick<Told, 'person' | 'startedAt'>) {
  return person ?? turnPerson(null, 'UTC', startedAt)
}

/** `now: Wednesday 2026-11-18 10:20 Europe/Berlin`. */
export function nowText(input: Pick<Told, 'person' | 'startedAt'>): string {
  const { timezone, timezoneKnown } = personOf(input)
  const unknown = timezoneKnown ? '' : "; the person's time zone is not known"
  return `now: ${localText(input.startedAt, timezone)}${unknown}`
}

const localText = (at: Date, timezone: string) =>
  `${dayAndTime(at.getTime(), timezone)} ${timezone}`

interface Place {
  readonly timezone: string
  readonly now: Date
}

/** `why you run: alarm "dentist", due …, 40 min ago; set … by you, when the user wrote "…"; 2 more slots were missed, …`. */
export function causeText(
  type: string,
  payload: Payload,
  cause: Cause | null,
  { timezone, now }: Place,
): string {
  const due = cause?.scheduled_for ?? instantOf(payload.scheduled_for)
  const parts = [
    whatOf(type, payload),
    ...(due === null ? [] : [dueText(due, { timezone, now })]),
    ...deferredText(payload, timezone),
  ]
  const more = [...setText(cause, timezone), ...missedText(payload, timezone)]
  return [`why you run: ${parts.join(', ')}`, ...more].join('; ')
}

function whatOf(type: string, payload: Payload): string {
  const named = (kind: string, name: unknown) => (name ? `${kind} ${quoted(String(name))}` : kind)
  switch (type) {
    case 'timer':
      return `${named('follow-up', payload.timer_id)}, which a message of the user would have cancelled`
    case 'alarm':
      return named('alarm', payload.label)
    case 'intent':
      return named(`${payload.trigger_type ?? ''} intent`.trim(), payload.intent_name)
    case 'tool_result':
      return named('result of', payload.tool_id ?? 'a question')
    case 'digest':
      return 'several schedules that waited, to be told in one message'
    default:
      return type
  }
}

function dueText(due: Date, { timezone, now }: Place): string {
  const late = now.getTime() - due.getTime()
  const ago = late < LATE_MS ? '' : `, ${fromNow(due.getTime(), now.getTime())}`
  return `due ${localText(due, timezone)}${ago}`
}

function deferredText({ deferred }: Payload, timezone: string): string[] {
  const { from, rule } = (deferred ?? {}) as { from?: unknown; rule?: unknown }
  const at = instantOf(from)
  return at === null ? [] : [`held back from ${localText(at, timezone)} (${String(rule)})`]
}

function setText(cause: Cause | null, timezone: string): string[] {
  const lineage = readLineage(cause?.lineage ?? null)
  if (lineage === null) return []
  const { root, depth, origin } = lineage
  const at = cause?.set_at ?? root.at
  const outside = origin === null ? [] : [`content from outside (${origin}) led to it`]
  return [`set ${localText(at, timezone)} ${byText(root.kind, depth, cause?.message)}`, ...outside]
}

function byText(kind: string, depth: number, message: string | null | undefined): string {
  if (kind === 'agent_key') return 'by you, with a key of your own'
  if (kind === 'call') return depth > 1 ? 'by you, in a turn of another schedule' : 'over the API'
  if (kind === 'tool_result') return 'by you, over the result of a tool'
  const { text } = (message ? JSON.parse(message) : {}) as { text?: unknown }
  const words = typeof text === 'string' ? `, when the user wrote ${quoted(text)}` : ''
  return depth > 1 ? `by you, in a later turn${words}` : `by you${words}`
}

function missedText(payload: Payload, timezone: string): string[] {
  const { missed_count: count } = payload
  if (typeof count !== 'number' || count < 1) return []
  const { from, to } = (payload.missed ?? {}) as { from?: unknown; to?: unknown }
  const [first, last] = [instantOf(from), instantOf(to)]
  const span =
    first === null || last === null
      ? ''
      : `, from ${localText(first, timezone)} to ${localText(last, timezone)}`
  return [`${count} more ${count === 1 ? 'slot was' : 'slots were'} missed${span}`]
}

function instantOf(value: unknown): Date | null {
  const at = new Date(typeof value === 'string' ? value : Number.NaN)
  return Number.isNaN(at.getTime()) ? null : at
}

const quoted = (text: string) => JSON.stringify(storableText(text, QUOTED_MAX))
