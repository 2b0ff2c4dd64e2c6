/** Questions to people: asked with a turn's commit, ended once. Who ends one holds the lock of its session, or takes it back. */

import { listOf, type RowOf, typesOf } from '../../core/columns.ts'
import { Refusal } from '../../core/errors.ts'
import type { Db } from '../../store/db.ts'
import { eqByKey, NOW, QUESTIONS } from '../../store/due.ts'
import { type PageQuery, readOne, readPage, type Table } from '../../store/page.ts'
import { dueFrom, NUMBERED, type Numbered, type SlotEvent } from '../../store/slots.ts'
import { rows, rowsOf, statement } from '../../store/statement.ts'
import type { NewEvent } from '../sessions/event-rows.ts'
import { assignSeq } from '../sessions/number-rows.ts'
import {
  ANSWER_MAX,
  type AnsweredBy,
  answeredText,
  closedWords,
  NEXT,
  optionIn,
  QUESTION,
  type QuestionStatus,
} from './rules.ts'

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

export interface QuestionRow extends RowOf<typeof QUESTION> {
  readonly now: Date
}

const COLUMNS = listOf(QUESTION, 't')
const GIVEN = typesOf(QUESTION, [
  ...(['due_at', 'status', 'answer', 'answered_by', 'created_at', 'updated_at'] as const),
])
const NAMES = Object.keys(GIVEN)
export type NewQuestion = Pick<QuestionRow, keyof typeof GIVEN>

const INSERT = statement(
  { i: rows(GIVEN) },
  ({ i }) => `insert into wakeful.questions (${NAMES}, due_at, created_at, updated_at)
    select ${NAMES}, until_at, ${NOW}, ${NOW} from ${i}`,
)

export async function insertQuestions(tx: Db, questions: readonly NewQuestion[]): Promise<void> {
  if (questions.length > 0) await INSERT.run(tx, { i: questions })
}

/** What a question ends as. */
export interface Ended {
  readonly bucket: number
  readonly id: string
  readonly status: QuestionStatus
  readonly answer: string | null
  readonly answered_by: AnsweredBy | null
  /** Of this person's agent alone; null: whose ever it is. */
  readonly owner: string | null
}

const END = statement(
  {
    i: rows({
      bucket: 'smallint',
      id: 'uuid',
      status: 'text',
      answer: 'text?',
      answered_by: 'text?',
      owner: 'text?',
    }),
  },
  ({
    i,
  }) => `update wakeful.questions t set status = i.status, answer = i.answer, answered_by = i.answered_by, due_at = null, updated_at = ${NOW}
    from ${i} where ${eqByKey('t.bucket', 'i.bucket')} and ${eqByKey('t.id', 'i.id')} and t.status = 'open'
      and (i.owner is null or starts_with(t.session_key, i.owner))
    returning t.id`,
)

/** Those that were still open; the others stay as they are. */
export async function endQuestions(tx: Db, ended: readonly Ended[]): Promise<ReadonlySet<string>> {
  if (ended.length === 0) return new Set()
  const rows = await END.run<{ id: string }>(tx, { i: ended })
  return new Set(rows.map(({ id }) => id))
}

/** Locks the sessions in which the time of a question is over, soonest first; those that others hold are passed. */
export const dueQuestions = dueFrom<QuestionRow>(QUESTIONS, COLUMNS, {
  join: `join wakeful.sessions s on ${eqByKey('s.bucket', 't.bucket')} and s.session_key = t.session_key`,
  lock: 's',
})

/** A default as an event of its session. */
export interface DefaultEvent extends SlotEvent {
  readonly question: QuestionRow
  /** JSON text. */
  readonly payload: string
}

const APPEND = statement(
  {
    i: rowsOf<Numbered<DefaultEvent>>({
      ...NUMBERED,
      payload: ['json', ({ event }) => event.payload],
      trigger_id: ['uuid', ({ event }) => event.question.id],
      scheduled_for: ['timestamptz?', ({ event }) => event.question.until_at],
      traceparent: ['text?', ({ event }) => event.question.traceparent],
      lineage: ['text?', ({ event }) => event.question.lineage],
    }),
  },
  ({
    i,
  }) => `insert into wakeful.events (bucket, session_key, seq, id, type, payload, trigger_id, scheduled_for, traceparent, lineage, created_at)
    select bucket, session_key, seq, event_id, 'tool_result', payload, trigger_id, scheduled_for, traceparent, lineage, ${NOW} from ${i}`,
)

export async function appendDefaults(tx: Db, events: readonly DefaultEvent[]): Promise<void> {
  if (events.length > 0) await APPEND.run(tx, { i: await assignSeq(tx, events) })
}

const OPEN = statement(
  { i: rows({ bucket: 'smallint', key: 'text' }) },
  ({ i }) => `select ${COLUMNS}, ${NOW} as now from ${i}
    cross join lateral (select * from wakeful.questions o
      where o.bucket = i.bucket and o.session_key = i.key and o.status = 'open') t
    order by t.created_at desc, t.id desc`,
)

/** Of sessions that the caller holds the locks of, newest first. */
export async function openQuestions(
  tx: Db,
  sessions: readonly { readonly bucket: number; readonly key: string }[],
): Promise<QuestionRow[]> {
  return OPEN.run<QuestionRow>(tx, { i: sessions })
}

const LISTED: Table<QuestionRow> = {
  from: 'wakeful.questions t',
  columns: `${COLUMNS}, ${NOW} as now`,
}

export const getQuestion = (db: Db, owner: string | null, id: string) =>
  readOne(db, LISTED, { owner, id })

/** Newest first. */
export const listQuestions = (db: Db, page: PageQuery) => readPage(db, LISTED, page)
