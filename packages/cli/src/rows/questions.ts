/** Commands about questions that agents ask people. */
import { column, PAGED, type Resource, status, text, when, wide } from '../row.ts'

export const questions: Resource = {
  name: 'questions',
  about: "questions of agents that wait for a person's word",
  rows: [
    {
      verb: 'list',
      operation: 'list_questions',
      about: 'questions, newest first; --status open: those that wait',
      fields: [...PAGED, text('status', 'open, answered, defaulted or cancelled')],
      none: 'no questions',
      columns: [
        column('id'),
        wide('text'),
        status(),
        column('answer'),
        when('until_at', 'until'),
        column('session_key', 'session'),
      ],
    },
    {
      verb: 'show',
      operation: 'get_question',
      about: 'one question, with its options',
      args: ['<id>'],
    },
    {
      verb: 'answer',
      operation: 'answer_question',
      about: "answer with the person's word: wakeful questions answer <id> Yes",
      args: ['<id>', '<answer>'],
    },
    {
      verb: 'cancel',
      operation: 'cancel_question',
      about: 'withdraw a question',
      args: ['<id>'],
    },
  ],
}
