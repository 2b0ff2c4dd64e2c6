/** Messages that answer a question: told by what they say, under the lock of their session, in the transaction that appends them. */
import { Refusal } from '../../core/errors.ts'
import type { Db } from '../../store/db.ts'
import type { NewEvent } from '../sessions/event-rows.ts'
import { type Ended, endQuestions, getQuestion, openQuestions, type QuestionRow } from './rows.ts'
import { ANSWER_MAX, answeredText, closedWords, NEXT, optionIn } from './rules.ts'

/** The events, those that answer with their question in the payload. One that must answer and finds its question ended is refused. */
export async function answering(
  tx: Db,
  events: readonly NewEvent[],
  mayAnswer: (event: NewEvent) => boolean,
): Promise<NewEvent[]> {
  const sessions = new Map(events.filter(mayAnswer).map(({ session }) => [session.key, session]))
  const open = sessions.size === 0 ? [] : await openQuestions(tx, [...sessions.values()])
  const found = new Map<NewEvent, Found>()
  for (const event of events) {
    const answer = mayAnswer(event) ? answerOf(event, open) : null
    if (answer === null) continue
    found.set(event, answer)
    open.splice(open.indexOf(answer.question), 1)
  }
  // One may have been withdrawn since it was read: then this is a message like any other.
  const ended = await endQuestions(tx, [...found.values()].map(endOf))
  for (const event of events) await mustAnswer(tx, event, ended)
  return events.map((event) => {
    const answer = found.get(event)
    return answer === undefined || !ended.has(answer.question.id)
      ? event
      : { ...event, payload: payloadWith(event, answer) }
  })
}

interface Found {
  readonly question: QuestionRow
  readonly answer: string
}

function endOf({ question: { bucket, id }, answer }: Found): Ended {
  const status = NEXT.open.answer
  return { bucket, id, status, answer, answered_by: 'person', owner: null }
}

/** The question it is about, else the newest that has such an option. */
function answerOf(
  { type, session, about, payload }: NewEvent,
  open: readonly QuestionRow[],
): Found | null {
  if (type !== 'user_message') return null
  const { text } = JSON.parse(payload) as { text?: unknown }
  if (typeof text !== 'string' || text.length > ANSWER_MAX) return null
  for (const question of open) {
    const meant =
      about === undefined ? question.session_key === session.key : question.id === about.id
    const option = meant ? optionIn(text, JSON.parse(question.options) as string[]) : null
    if (option !== null) return { question, answer: option }
  }
  return null
}

function payloadWith({ payload }: NewEvent, { question, answer }: Found): string {
  return `${payload.slice(0, -1)},"question":${answeredText(question, answer, 'person')}}`
}

async function mustAnswer(tx: Db, { about, session }: NewEvent, ended: ReadonlySet<string>) {
  if (!about?.must || ended.has(about.id)) return
  const question = await getQuestion(tx, session.userId, about.id)
  if (question === null) throw new Refusal('not_found', `there is no question ${about.id}`)
  throw new Refusal('conflict', closedWords(question))
}
