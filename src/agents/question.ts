/** What `ask` takes, and what it becomes: the message and its question as one wish. */

import { RawJson } from '../../packages/exact-json/src/index.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import {
  type AnsweredQuestion,
  type QuestionDraft,
  type QuestionTerms,
  questionTerms,
} from '../features/questions/rules.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import type { TurnInput } from './agent.ts'
import { storable } from './asked.ts'
import { sayable } from './said.ts'

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
