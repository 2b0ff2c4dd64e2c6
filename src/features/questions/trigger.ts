/** Questions: asked with a turn's commit; their default is taken when their time is over, as an event of their session. */
import { newId } from '../../core/ids.ts'
import { parseSessionKey } from '../../core/session.ts'
import { BATCH, type PendingCommand, promotedRow, type Trigger } from '../../kernel/trigger.ts'
import { claimTx, QUESTIONS } from '../../store/due.ts'
import {
  appendDefaults,
  type DefaultEvent,
  dueQuestions,
  endQuestions,
  insertQuestions,
  type QuestionRow,
} from './rows.ts'
import { type AnsweredBy, answeredText, NEXT, type QuestionDraft } from './rules.ts'

export const questionTrigger: Trigger = {
  type: 'tool_result',
  table: QUESTIONS,

  promote: (db) =>
    claimTx(db, async (tx) => {
      const { taken, nextMs } = await dueQuestions(tx, BATCH)
      // A message may have answered one between the look and the lock.
      const open = await endQuestions(tx, taken.map(defaulted))
      const events = taken.filter(({ id }) => open.has(id)).map(eventOf)
      await appendDefaults(tx, events)
      const rows = events.map(({ question, session }) => {
        const { until_at, created_at, now, traceparent, id: triggerId } = question
        const scheduledFor = until_at ?? created_at
        const latenessMs = now.getTime() - scheduledFor.getTime()
        return promotedRow(latenessMs, { traceparent, session, triggerId, scheduledFor })
      })
      return { promoted: rows.length, more: taken.length === BATCH, nextMs, rows }
    }),

  async wishes(tx, asked) {
    await insertQuestions(
      tx,
      asked.flatMap((each) => ('question' in each.wish.ask ? [rowOf(each, each.wish.ask)] : [])),
    )
    await endQuestions(
      tx,
      asked.flatMap(({ session: { bucket, userId, agentId }, wish: { ask } }) =>
        'cancel_question' in ask
          ? [{ bucket, id: ask.cancel_question, ...WITHDRAWN, owner: `${userId}:${agentId}:` }]
          : [],
      ),
    )
  },
}

const WITHDRAWN = { status: NEXT.open.cancel, answer: null, answered_by: null } as const

const defaulted = ({ bucket, id, default_answer: answer, unattended }: QuestionRow) => {
  const by: AnsweredBy = unattended ? 'unattended' : 'default'
  return { bucket, id, status: NEXT.open.time, answer, answered_by: by, owner: null }
}

function eventOf(question: QuestionRow): DefaultEvent {
  const session = parseSessionKey(question.session_key)
  if (session === null) throw new Error(`question ${question.id} has no session`)
  const { answered_by: by, answer } = defaulted(question)
  const payload = `{"tool_id":"question","question":${answeredText(question, answer, by)}}`
  return { session, eventId: newId(), question, payload }
}

function rowOf(
  { session, eventSeq, traceparent, lineage }: PendingCommand,
  { question }: { question: QuestionDraft },
) {
  const { id, text, options, defaultAnswer, untilAt, payload, unattended } = question
  return {
    ...{ bucket: session.bucket, id, user_id: session.userId, session_key: session.key },
    ...{ event_seq: eventSeq, text, payload, unattended, traceparent: traceparent ?? null },
    lineage: lineage ?? null,
    ...{ options: JSON.stringify(options), default_answer: defaultAnswer, until_at: untilAt },
  }
}
