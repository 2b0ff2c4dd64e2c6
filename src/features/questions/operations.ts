/** Questions that agents ask people: looked at, answered, withdrawn. */

import { z } from 'zod'
import {
  type Context,
  idParam,
  listQuery,
  mergedPages,
  newestPage,
  operation,
  pageOf,
} from '../../api/contract.ts'
import { schemaOf, visibleOf } from '../../core/columns.ts'
import { Refusal } from '../../core/errors.ts'
import { keyPart, sessionKey } from '../../core/fields.ts'
import { parseSessionKey, type SessionRef } from '../../core/session.ts'
import { quoted, whenText } from '../../core/words.ts'
import { eventSchema, eventView } from '../sessions/list-operations.ts'
import { appendEvent } from '../sessions/operations.ts'
import { sessionOf } from '../sessions/ref-operations.ts'
import { endQuestions, getQuestion, listQuestions, type QuestionRow } from './rows.ts'
import { closedWords, NEXT, optionIn, QUESTION, QUESTION_STATUSES } from './rules.ts'

const ANSWER_MAX = 100
export const questionView = schemaOf(QUESTION).extend({
  options: z.array(z.string()),
  words: z.string(),
})
export const questionViewOf = (row: QuestionRow) => ({
  ...visibleOf(QUESTION, row),
  words: wordsOf(row),
})

/** `"Send it?" is open: "Yes" or "No"; "No" counts from tomorrow 09:00 on. Its id is …`. */
function wordsOf({ id, text, status, answer, until_at: at, now, ...row }: QuestionRow): string {
  const options = (JSON.parse(row.options) as string[]).map((each) => quoted(each)).join(' or ')
  const then =
    at === null
      ? ''
      : `; ${quoted(row.default_answer ?? '')} counts from ${whenText(at.getTime(), 'UTC', now.getTime())} on`
  const came = answer === null ? '' : `: ${quoted(answer)}`
  const state = status === 'open' ? `open: ${options}${then}` : `${status}${came}`
  return `${quoted(text)} is ${state}. Its id is ${id}.`
}

const params = z.object({ id: idParam })

/** Null unless this actor may see it. */
async function found(ctx: Context, id: string): Promise<QuestionRow & { session: SessionRef }> {
  const { userId, agentId } = ctx.actor
  const row = await getQuestion(ctx.db, userId, id)
  const session = row === null ? null : parseSessionKey(row.session_key)
  const foreign = agentId !== null && session?.agentId !== agentId
  if (row === null || session === null || foreign)
    throw new Refusal('not_found', `there is no question ${id}`)
  return { ...row, session }
}

const listOp = operation({
  name: 'list_questions',
  method: 'GET',
  path: '/v1/questions',
  tag: 'Questions',
  summary: 'Questions that agents have asked, newest first',
  query: listQuery({ max: 500, default: 100 }).extend({
    user_id: keyPart.optional().describe('Whose. Admin and service only.'),
    session_key: sessionKey.optional().describe('Only of this session.'),
    status: z.enum(QUESTION_STATUSES).optional(),
  }),
  across: mergedPages,
  owner: 'query',
  roles: ['admin', 'service', 'agent', 'user'],
  output: pageOf(questionView),
  async run(ctx, { query }) {
    const userId = ctx.owner ?? null
    const { agentId } = ctx.actor
    const session = query.session_key === undefined ? null : sessionOf(ctx.actor, query.session_key)
    const own = userId === null || agentId === null ? null : `${userId}:${agentId}:`
    const where = { 'starts_with(session_key, $)': session?.key ?? own, status: query.status }
    const { cursor: after, limit } = query
    const rows = await listQuestions(ctx.db, { owner: userId, where, after, limit: limit + 1 })
    return newestPage(rows, limit, questionViewOf)
  },
})

const getOp = operation({
  name: 'get_question',
  method: 'GET',
  path: '/v1/questions/{id}',
  tag: 'Questions',
  summary: 'One question: what it offers, and what it came to',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: questionView,
  run: async (ctx, { params }) => ({ body: questionViewOf(await found(ctx, params.id)) }),
})

const answerOp = operation({
  name: 'answer_question',
  method: 'POST',
  path: '/v1/questions/{id}/answer',
  tag: 'Questions',
  summary: "Answer a question with the person's word",
  description:
    "Appends the answer to the session as the person's message, with the question in its payload. The first answer counts: where it was answered before, or its default was taken, this is 409 and says which. Not for agents: they ask.",
  params,
  body: z.object({ answer: z.string().min(1).max(ANSWER_MAX).describe('One of the options.') }),
  status: 202,
  creates: true,
  owner: 'row',
  roles: ['admin', 'service', 'user'],
  output: z.object({ question: questionView, event: eventSchema, words: z.string() }),
  async run(ctx, { params, body }) {
    const question = await found(ctx, params.id)
    if (question.status !== 'open') throw new Refusal('conflict', closedWords(question))
    const options = JSON.parse(question.options) as string[]
    const text = optionIn(body.answer, options)
    if (text === null)
      throw new Refusal(
        'rule',
        `answer: takes one of ${options.map((each) => JSON.stringify(each)).join(', ')}`,
      )
    const about = { id: question.id, must: true }
    const payload = JSON.stringify({ text })
    const row = await appendEvent(ctx, question.session, 'user_message', payload, null, about)
    const answered = await found(ctx, params.id)
    const shown = questionViewOf(answered)
    const words = `Answered. ${shown.words}`
    return { body: { question: shown, event: eventView(row), words }, about: told(question) }
  },
})

/** For the audit log: an admin may have answered anybody's. */
const told = ({ id, user_id: owner }: QuestionRow) => ({ id, owner })

const cancelOp = operation({
  name: 'cancel_question',
  method: 'DELETE',
  path: '/v1/questions/{id}',
  tag: 'Questions',
  summary: 'Withdraw a question; one that has ended stays as it is',
  params,
  owner: 'row',
  roles: ['admin', 'service', 'agent', 'user'],
  output: questionView,
  async run(ctx, { params }) {
    const question = await found(ctx, params.id)
    const { bucket, id } = question
    const none = { answer: null, answered_by: null, owner: null }
    await endQuestions(ctx.db, [{ bucket, id, status: NEXT.open.cancel, ...none }])
    return { body: questionViewOf(await found(ctx, id)), about: told(question) }
  },
})

export const questions = [listOp, getOp, answerOp, cancelOp]
