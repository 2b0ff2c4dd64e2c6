/**
 * What is said in a turn: a text, a promise with the alarm that keeps it, a question, and the notice that work is ready. The turn
 * over a notice is not run by the agent: one message says so, and the agent's state stays untouched, whatever kind of agent it is.
 */

import { RawJson } from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { TEXT_MAX_BYTES } from '../core/session.ts'
import { hasUnstorableText, storableText } from '../core/text.ts'
import { promiseIn } from '../features/alarms/draft.ts'
import {
  type AnsweredQuestion,
  type QuestionDraft,
  type QuestionTerms,
  questionTerms,
} from '../features/questions/rules.ts'
import type { Silence } from '../features/sessions/gate.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import type { Agent, LiveText, TurnInput, TurnResult } from './agent.ts'
import { type AlarmRequest, alarmDraft, storable } from './requests.ts'

/** The text itself; throws what says how to mend it. */
export function sayable(what: string, text: unknown): string {
  if (typeof text !== 'string' || text.trim() === '')
    throw new TypeError(`${what}: takes a text that is not blank`)
  if (Buffer.byteLength(text) > TEXT_MAX_BYTES)
    throw new TypeError(`${what}: takes at most ${TEXT_MAX_BYTES} bytes of text`)
  if (hasUnstorableText(text))
    throw new TypeError(`${what}: the text holds a NUL or half of a surrogate pair`)
  return text
}

export function isStream(text: string | AsyncIterable<string>): text is AsyncIterable<string> {
  return typeof text === 'object' && text !== null && Symbol.asyncIterator in text
}

/** The whole text. `live` shows it while it comes. */
export async function readStream(
  stream: AsyncIterable<string>,
  signal: AbortSignal,
  live?: LiveText,
): Promise<string> {
  let text = ''
  // What an earlier run over the same event has written.
  live?.retract()
  for await (const delta of stream) {
    signal.throwIfAborted()
    if (typeof delta !== 'string') throw new TypeError(`say: takes texts, got ${typeof delta}`)
    text += delta
    live?.write(delta)
    // More than a message holds: it is refused below.
    if (text.length > TEXT_MAX_BYTES) break
  }
  const said = sayable('say', text)
  live?.settle(said)
  return said
}

const RECORDED_MAX = 2_000

/** Cut to what a record holds; blank texts are left out. */
export function silenceOf(
  rule: Silence['rule'],
  { reason, text }: { readonly reason?: string | undefined; readonly text?: string | undefined },
): Silence {
  const kept = (name: 'reason' | 'text', value = '') =>
    value.trim() === '' ? {} : { [name]: storableText(value.trim(), RECORDED_MAX) }
  return { allowed: true, rule, ...kept('reason', reason), ...kept('text', text) }
}

/** A quarter of what a wake may hold, in characters: it fits whatever they are. */
const WAKE_MAX = 2_000

/** As an alarm; by default it wakes with the words of the promise. */
export interface PromiseRequest extends Omit<AlarmRequest, 'wake_message'> {
  readonly wake_message?: string
}

/** Throws what says how to mend it; then nothing is said either. */
export function promiseWish(
  text: string,
  request: PromiseRequest,
  input: TurnInput,
  id?: string,
): { wish: TurnAction; id: string } {
  const content = sayable('promise', text)
  const wake_message = request.wake_message ?? storableText(`You promised: ${text}`, WAKE_MAX)
  const draft = alarmDraft({ ...request, wake_message }, input)
  const set = { ...draft, promised: true, ...(id === undefined ? {} : { id }) }
  const wish: TurnAction = {
    type: 'send_message',
    content,
    along: [{ trigger: 'alarm', ask: { set } }],
  }
  return { wish, id: set.id }
}

/** One that was made from outside: its turn keeps it without asking the agent. */
export function promiseFor(input: TurnInput): TurnResult | null {
  const made = promiseIn(input.event)
  if (made === null) return null
  const refusal = input.refusal?.()
  if (refusal) throw refusal
  const { id, content, ...request } = made
  const { wish } = promiseWish(content, request as PromiseRequest, input, id)
  return { wishes: [wish], checkpointId: null, points: [] }
}

const QUESTION_MAX = 2_000

/** `options` are Yes and No by default; `default` counts from `until` on. */
export interface QuestionRequest extends QuestionTerms {
  /** Handed back with the answer. */
  readonly payload?: unknown
}

/** Throws what says how to mend it; then nothing is asked. */
export function questionWish(
  text: string,
  request: QuestionRequest,
  input: TurnInput,
): { wish: TurnAction; id: string } {
  const { startedAt: now, person } = input
  const said = sayable('ask', text)
  if (said.length > QUESTION_MAX)
    throw new TypeError(`ask: takes at most ${QUESTION_MAX} characters`)
  const terms = questionTerms(request, { timezone: person?.timezone ?? 'UTC', now })
  const { payload = {} } = request
  const own = payload instanceof RawJson ? payload.text : storable('ask: payload', payload)
  const id = newId()
  const draft: QuestionDraft = { ...terms, id, text: said, payload: own, unattended: false }
  if (isUnattended(input)) return { wish: takenAtOnce(draft, now), id }
  const { options, untilAt } = terms
  const shown = { id, options, ...(untilAt === null ? {} : { until: untilAt.toISOString() }) }
  const along = [{ trigger: 'tool_result', ask: { question: draft } } as const]
  return { wish: { type: 'send_message', content: said, question: shown, along }, id }
}

/** A fire whose trigger says that nobody watches. */
function isUnattended({ event }: TurnInput): boolean {
  if (event.type !== 'alarm' && event.type !== 'intent') return false
  return (JSON.parse(event.payload) as { unattended?: unknown }).unattended === 'default'
}

/** Nothing is said, and the default is there with the next event. */
function takenAtOnce(draft: QuestionDraft, now: Date): TurnAction {
  if (draft.defaultAnswer === null)
    throw new Refusal(
      'rule',
      'ask: nobody watches this fire (unattended is "default"), so a question takes default and until',
    )
  const question = { ...draft, untilAt: now, unattended: true }
  return { type: 'trigger_command', trigger: 'tool_result', ask: { question } }
}

/** The question that an event answers; null where it answers none. Nobody but the server writes the field. */
export function answeredIn(type: string, payload: unknown): AnsweredQuestion | null {
  if (type !== 'user_message' && type !== 'tool_result') return null
  return (payload as { question?: AnsweredQuestion } | null)?.question ?? null
}

const EXCERPT_LINES = 3
const EXCERPT_MAX = 280

export interface NoticePayload {
  readonly notice: true
  readonly work_id: string
  readonly run_number: number
  readonly agent_type: string
  readonly title: string
  /** The first lines of what was produced. */
  readonly excerpt: string
  readonly file_url: string | null
  /** It did not succeed; `excerpt` says why. */
  readonly failed?: boolean
  /** The run before did not succeed, and this one did. */
  readonly recovered?: boolean
}

/** Of the product itself: that a limit was reached. */
interface PlainNotice {
  readonly notice: true
  readonly text: string
}

/** An agent as it runs here: notices and promises from outside are told for it, and it knows who does work. */
export function withNotices(agent: Agent, workTypes: readonly string[] = []): Agent {
  return {
    kind: agent.kind,
    timeoutMs: agent.timeoutMs,
    concurrency: agent.concurrency,
    perMinute: agent.perMinute,
    whileRunning: agent.whileRunning,
    failureText: agent.failureText,
    onFailure: agent.onFailure,
    runsInForecasts: agent.runsInForecasts ?? false,
    run: async (input) => {
      const notice = noticeOf(input)
      const own = notice === null ? promiseFor(input) : told(notice)
      // Not a copy: that would ask for its signal, which is made for who wants one.
      return own ?? agent.run(Object.assign(input, { workTypes }))
    },
  }
}

/** Events of this type are made by the product alone, so the mark on them is to be trusted. */
function noticeOf({ event }: TurnInput): NoticePayload | PlainNotice | null {
  if (event.type !== 'work') return null
  const payload = JSON.parse(event.payload) as Partial<NoticePayload>
  return payload.notice === true ? (payload as NoticePayload) : null
}

function told(notice: NoticePayload | PlainNotice): TurnResult {
  const content = 'text' in notice ? notice.text : noticeText(notice)
  const wish: TurnAction = { type: 'send_message', content }
  return { wishes: [wish], checkpointId: null, points: [] }
}

export function noticeText(notice: NoticePayload): string {
  const { title, run_number, excerpt, failed = false, recovered = false } = notice
  const became = failed ? 'failed' : recovered ? 'works again and is ready' : 'is ready'
  const rest = failed ? ' You hear of it again when it succeeds.' : ''
  const head = `"${title}" ${became} (run ${run_number}).${rest}`
  return excerpt === '' ? head : `${head}\n\n${excerpt}`
}

/** What only arranges a document: headings, rules, fences, and the line under a table's head. */
const ARRANGES = /^(#{1,6}(\s|$)|([-*_]\s*){3,}$|=+$|```|~~~|\|?\s*:?-+:?\s*(\|\s*:?-*:?\s*)*$)/

/** The first lines that say something: a message is read where nobody renders Markdown. */
export function excerptOf(content: string, title: string): string {
  const lines = content.slice(0, 8 * EXCERPT_MAX).split('\n')
  const told = lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !ARRANGES.test(line))
  if (told[0] === title) told.shift()
  const text = told.slice(0, EXCERPT_LINES).join('\n')
  const cut = text.length > EXCERPT_MAX ? `${text.slice(0, EXCERPT_MAX - 1)}…` : text
  return cut.replaceAll(/\p{Surrogate}/gu, '\uFFFD')
}
