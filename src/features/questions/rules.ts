/**
 * A question to a person, and how it ends: by their word, by its declared default when its time is over, or by being withdrawn;
 * once, and a second answer is told so. Pure.
 */
import { z } from 'zod'
import { localInstant } from '../../../packages/schedule/src/index.ts'
import { internal, oneOf, oneOfOrNull, visible } from '../../core/columns.ts'
import { Refusal } from '../../core/errors.ts'
import { pauseEnd } from '../people/change.ts'

export const QUESTION_STATUSES = ['open', 'answered', 'defaulted', 'cancelled'] as const
export type QuestionStatus = (typeof QUESTION_STATUSES)[number]

/** Who has spoken: the person, time, or the rule of a trigger whose fires nobody watches. */
export const ANSWERED_BY = ['person', 'default', 'unattended'] as const
export type AnsweredBy = (typeof ANSWERED_BY)[number]

/** What questions of a fire that nobody watches come to: they are asked all the same, or take their default at once. */
export const UNATTENDED = ['ask', 'default'] as const
export const unattended = z
  .enum(UNATTENDED)
  .default('ask')
  .describe(
    'What becomes of a question that its agent asks when it is woken: "ask" sends it to the person, "default" takes its declared default at once and says nothing.',
  )

export type QuestionMove = 'answer' | 'time' | 'cancel'

/** What a question becomes. The first word counts: one that has ended stays as it is. */
export const NEXT: Readonly<
  Record<QuestionStatus, Readonly<Record<QuestionMove, QuestionStatus>>>
> = {
  open: { answer: 'answered', time: 'defaulted', cancel: 'cancelled' },
  answered: { answer: 'answered', time: 'answered', cancel: 'answered' },
  defaulted: { answer: 'defaulted', time: 'defaulted', cancel: 'defaulted' },
  cancelled: { answer: 'cancelled', time: 'cancelled', cancel: 'cancelled' },
}

/** Buttons of channels hold no more. */
export const OPTION_MAX = 20
const OPTIONS_MAX = 10
const UNTIL_MAX_MS = 366 * 86_400_000
const YES_NO = ['Yes', 'No'] as const

export const QUESTION = {
  bucket: internal('smallint'),
  id: visible('uuid'),
  user_id: visible('text'),
  session_key: visible('text'),
  event_seq: visible('int'),
  text: visible('text'),
  options: visible('json'),
  default_answer: visible('text?'),
  until_at: visible('timestamptz?'),
  due_at: internal('timestamptz?'),
  payload: visible('json'),
  status: oneOf(QUESTION_STATUSES),
  answer: visible('text?'),
  answered_by: oneOfOrNull(ANSWERED_BY),
  unattended: internal('boolean'),
  traceparent: internal('text?'),
  lineage: internal('text?'),
  created_at: visible('timestamptz'),
  updated_at: visible('timestamptz'),
}

/** As a turn asks it. */
export interface QuestionDraft {
  readonly id: string
  readonly text: string
  readonly options: readonly string[]
  readonly defaultAnswer: string | null
  readonly untilAt: Date | null
  /** JSON text, handed back with the answer. */
  readonly payload: string
  readonly unattended: boolean
}

/** What a turn may ask about questions. */
export type QuestionAsk =
  | { readonly question: QuestionDraft }
  | { readonly cancel_question: string }

export interface QuestionTerms {
  readonly options?: readonly string[]
  readonly default?: string
  readonly until?: Date | string
}

/** Options, default and end, all checked. Throws a `Refusal` with all that is wrong. */
export function questionTerms(
  { options = YES_NO, default: named, until }: QuestionTerms,
  { timezone, now }: { readonly timezone: string; readonly now: Date },
): Pick<QuestionDraft, 'options' | 'defaultAnswer' | 'untilAt'> {
  const errors = optionErrors(options)
  const defaultAnswer = named === undefined ? null : optionIn(named, options)
  if (named !== undefined && defaultAnswer === null)
    errors.push(`default: ${JSON.stringify(named)} is not one of the options`)
  if ((named === undefined) !== (until === undefined))
    errors.push('default and until go together: what counts, and from when on')
  let untilAt: Date | null = null
  try {
    untilAt = until === undefined ? null : endOf(until, timezone, now)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    errors.push(...error.errors)
  }
  if (untilAt !== null && untilAt <= now) errors.push('until: must be in the future')
  if (untilAt !== null && untilAt.getTime() - now.getTime() > UNTIL_MAX_MS)
    errors.push('until: must be within a year')
  if (errors.length > 0) throw new Refusal('rule', errors)
  return { options: [...options], defaultAnswer, untilAt }
}

function optionErrors(options: readonly unknown[]): string[] {
  const errors: string[] = []
  if (!Array.isArray(options) || options.length < 2 || options.length > OPTIONS_MAX)
    return [`options: takes 2 to ${OPTIONS_MAX} texts`]
  const fits = (option: unknown) =>
    typeof option === 'string' && option.trim() !== '' && option.length <= OPTION_MAX
  if (!options.every(fits)) errors.push(`options: each takes 1 to ${OPTION_MAX} characters`)
  else if (new Set(options.map((option) => folded(String(option)))).size < options.length)
    errors.push('options: must differ in more than case and punctuation')
  return errors
}

/** An instant, or a phrase that means one. */
function endOf(until: Date | string, timezone: string, now: Date): Date {
  if (until instanceof Date) {
    if (Number.isNaN(until.getTime())) throw new Refusal('rule', 'until: must be a valid Date')
    return until
  }
  const at = typeof until === 'string' ? localInstant(until, timezone) : null
  if (at !== null) return new Date(at)
  return pauseEnd({ until: String(until) }, timezone, now).until
}

function folded(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .replace(/[.!\s]+$/, '')
}

/** Which of the options a text means: the option itself, or, where there is a yes or a no, a plain one in other words. */
export function optionIn(text: string, options: readonly string[]): string | null {
  const said = folded(text)
  const same = options.find((option) => folded(option) === said)
  const plain = same === undefined ? plainWord(said) : null
  return same ?? options.find((option) => folded(option) === plain) ?? null
}

/** Longer ones are for the agent: nobody has to look whether they answer anything. */
export const ANSWER_MAX = 40

function plainWord(said: string): 'yes' | 'no' | null {
  if (YES.has(said)) return 'yes'
  return NO.has(said) ? 'no' : null
}

/** Whether a text is a plain yes or a plain no. */
export function yesOrNo(text: string): 'yes' | 'no' | null {
  return plainWord(folded(text))
}

const YES = new Set([
  ...['yes', 'y', 'yes please', 'ok', 'okay', 'sure', 'go ahead', 'do it', 'approve'],
])
const NO = new Set(['no', 'n', 'no thanks', 'no thank you', 'stop', "don't", 'reject', 'deny'])

/** What the agent is told: within the event of the person's message, or as one of its own when time has decided. */
export interface AnsweredQuestion {
  readonly id: string
  readonly text: string
  readonly options: readonly string[]
  readonly answer: string | null
  readonly by: AnsweredBy
  /** The event whose turn asked. */
  readonly asked_seq: number
  readonly payload: unknown
}

/** Written around the payload, which stays the text it is. */
export function answeredText(
  question: {
    readonly id: string
    readonly text: string
    /** JSON text. */
    readonly options: string
    readonly payload: string
    readonly event_seq: number
  },
  answer: string | null,
  by: AnsweredBy,
): string {
  const { id, text, options, payload, event_seq } = question
  return `{"id":"${id}","text":${JSON.stringify(text)},"options":${options},"answer":${JSON.stringify(answer)},"by":"${by}","asked_seq":${event_seq},"payload":${payload}}`
}

/** The text for a second answer. */
export function closedWords(question: {
  readonly status: QuestionStatus
  readonly answer: string | null
  readonly answered_by: AnsweredBy | null
}): string {
  const { status, answer, answered_by: by } = question
  if (status === 'cancelled') return 'This question was withdrawn.'
  return by === 'person'
    ? `This was answered already: ${answer}.`
    : `The time for this is over; it counts as: ${answer}.`
}
