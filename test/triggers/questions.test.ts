/** Questions to people: durable, asked with the turn's commit, and answered once, whoever comes first (invariants 3, 4 and 10). */
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agents/function.ts'
import type { QuestionRequest } from '../../src/agents/messages.ts'
import { Refusal } from '../../src/core/errors.ts'
import {
  type AnsweredQuestion,
  NEXT,
  optionIn,
  type QuestionMove,
  type QuestionStatus,
  questionTerms,
} from '../../src/features/questions/rules.ts'
import { type Row, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const KEY = 'ann:bot:t'

describe('the state of a question', () => {
  it('ends once: whatever comes after the first word changes nothing', () => {
    const move = fc.constantFrom<QuestionMove>('answer', 'time', 'cancel')
    fc.assert(
      fc.property(fc.array(move, { minLength: 1, maxLength: 8 }), (moves) => {
        const end = moves.reduce<QuestionStatus>((status, each) => NEXT[status][each], 'open')
        expect(end).toBe(NEXT.open[moves[0] as QuestionMove])
      }),
    )
  })

  it.each([
    ['yes', ['Yes', 'No'], 'Yes'],
    [' YES! ', ['Yes', 'No'], 'Yes'],
    ['go ahead', ['Yes', 'No'], 'Yes'],
    ['no thanks', ['Yes', 'No'], 'No'],
    ['later', ['Now', 'Later'], 'Later'],
    ['ok', ['Now', 'Later'], null],
    ['yes but not today', ['Yes', 'No'], null],
    ['ok', ['OK', 'Yes'], 'OK'],
  ])('%s of %j is %s', (text, options, meant) => {
    expect(optionIn(text, options)).toBe(meant)
  })

  it('refuses all that is wrong at once', () => {
    const at = { timezone: 'UTC', now: new Date('2026-01-01T00:00:00Z') }
    const errors = (terms: QuestionRequest) => {
      try {
        questionTerms(terms, at)
      } catch (error) {
        if (error instanceof Refusal) return error.errors
      }
      return []
    }
    expect(errors({ options: ['a'], default: 'b' })).toHaveLength(3)
    expect(errors({ options: ['Yes', 'yes.'] })).toEqual([expect.stringContaining('differ')])
    expect(errors({ default: 'No', until: '2025-01-01T00:00:00Z' })).toEqual([
      expect.stringContaining('future'),
    ])
    expect(errors({ default: 'No', until: 'often' })).not.toEqual([])
    expect(questionTerms({ default: 'no', until: 'in 2 hours' }, at)).toEqual({
      options: ['Yes', 'No'],
      defaultAnswer: 'No',
      untilAt: new Date('2026-01-01T02:00:00Z'),
    })
  })
})

eachStore('questions', (store) => {
  let act: (turn: Turn) => unknown = () => undefined
  const heard: (AnsweredQuestion | null)[] = []
  const shared = sharedStage(store, {
    agents: { bot: (turn) => act(turn), other: () => undefined },
  })
  beforeEach(() => {
    heard.length = 0
    act = (turn) => {
      if (turn.answer !== null) heard.push(turn.answer)
      else turn.ask('Send it?', { default: 'No', until: 'in 1 hour', payload: { draft: 7 } })
      if (turn.answer !== null) turn.say(`${turn.answer.answer} it is.`)
    }
  })
  const say = async (text: string, id?: string, key = KEY) => {
    const reply = await shared().call('POST', `/v1/sessions/${key}/messages`, { text, id })
    await shared().settle()
    return reply
  }
  const questions = async (query = ''): Promise<Row[]> =>
    (await shared().call('GET', `/v1/questions${query}`)).body.data
  const only = async () => (await questions())[0] as Row
  const messages = () =>
    shared().query<Row>(
      `select payload, reason from wakeful.effects where type = 'send_message' order by session_key, position`,
    )
  const answer = (id: string, word: string) =>
    shared().call('POST', `/v1/questions/${id}/answer`, { answer: word })

  it('is asked with the commit, shown with its options, and answered by a message: the agent’s next word is an answer', async () => {
    const s = shared()
    await say('go')
    const question = await only()
    expect(question).toMatchObject({
      ...{ user_id: 'ann', session_key: KEY, text: 'Send it?', options: ['Yes', 'No'] },
      ...{ default_answer: 'No', until_at: '2026-01-01T01:00:00.000Z', status: 'open' },
    })
    const [asked] = await messages()
    expect(JSON.parse(asked?.payload)).toEqual({
      content: 'Send it?',
      question: { id: question.id, options: ['Yes', 'No'], until: '2026-01-01T01:00:00.000Z' },
    })
    await say('ok', 'm1')
    expect(heard).toEqual([
      {
        ...{ id: question.id, text: 'Send it?', options: ['Yes', 'No'], answer: 'Yes' },
        ...{ by: 'person', asked_seq: 1, payload: { draft: 7 } },
      },
    ])
    expect((await messages()).at(-1)).toMatchObject({ reason: 'answer' })
    expect(await only()).toMatchObject({ status: 'answered', answer: 'Yes', answered_by: 'person' })
    // Told again it is the same message, and the time that is over then changes nothing.
    expect((await say('ok', 'm1')).status).toBe(200)
    await s.advanceBy(120 * MINUTE)
    expect(heard).toHaveLength(1)
  })

  it('something else that they say leaves it open, and so does what somebody else says', async () => {
    await say('go')
    act = () => undefined
    await say('which one do you mean?')
    await say('yes', undefined, 'bea:bot:t')
    await say('yes', undefined, 'ann:other:t')
    expect(await only()).toMatchObject({ status: 'open' })
  })

  it('takes its declared default when its time is over, once, as an event of its session', async () => {
    const s = shared()
    await say('go')
    await s.advanceBy(59 * MINUTE)
    expect(heard).toEqual([])
    await s.advanceBy(MINUTE)
    expect(heard).toMatchObject([{ answer: 'No', by: 'default', payload: { draft: 7 } }])
    await s.advanceBy(60 * MINUTE)
    expect(heard).toHaveLength(1)
    expect(await only()).toMatchObject({
      status: 'defaulted',
      answer: 'No',
      answered_by: 'default',
    })
    const late = await answer((await only()).id, 'Yes')
    expect(late).toMatchObject({ status: 409 })
    expect(late.text).toContain('counts as: No')
    const { body } = await s.call('GET', '/v1/ledger?trigger=question')
    expect(body.data).toMatchObject([
      { trigger: { kind: 'question', name: 'Send it?' }, outcome: 'sent', session_key: KEY },
    ])
  })

  it('is answered by a call, by one of two that race; the other hears so', async () => {
    const s = shared()
    await say('go')
    const { id } = await only()
    expect((await answer(id, 'maybe')).text).toContain('\\"Yes\\", \\"No\\"')
    const both = await Promise.all([answer(id, 'Yes'), answer(id, 'no')])
    await s.settle()
    expect(both.map(({ status }) => status).toSorted()).toEqual([202, 409])
    expect(both.find(({ status }) => status === 409)?.text).toContain('answered already')
    expect(heard).toHaveLength(1)
    expect(heard[0]?.answer).toBe((await only()).answer)
    const { body } = await s.call('GET', '/v1/ledger?trigger=question')
    expect(body.data).toMatchObject([{ outcome: 'cancelled', reason: { rule: 'answered' } }])
    expect(body.data[0].words).toContain('Answered at')
  })

  it('invariant 10: withdrawn by a call or a turn it is never answered', async () => {
    const s = shared()
    await say('go')
    const { id } = await only()
    const gone = await s.call('DELETE', `/v1/questions/${id}`)
    expect(gone.body).toMatchObject({ status: 'cancelled' })
    expect((await answer(id, 'Yes')).status).toBe(409)
    let own = ''
    act = (turn) => {
      if (own === '') own = turn.ask('Really?')
      else turn.cancelQuestion(own)
    }
    await say('go')
    await say('never mind')
    act = () => undefined
    await say('yes')
    await s.advanceBy(120 * MINUTE)
    expect((await questions()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
    const words = (await s.call('GET', '/v1/ledger?trigger=question')).body.data.map(
      (entry: Row) => entry.words,
    )
    expect(words).toEqual([
      expect.stringContaining('Withdrawn at'),
      expect.stringContaining('Withdrawn at'),
    ])
  })

  it('two open ones: a message answers the newest that has such an option', async () => {
    act = (turn) => {
      if (turn.answer !== null) heard.push(turn.answer)
      else if (turn.event.seq === 1) turn.ask('Send it?')
      else turn.ask('When?', { options: ['Now', 'Later'] })
    }
    await say('go')
    await say('go on')
    await say('yes')
    await say('later')
    expect(heard.map((each) => [each?.text, each?.answer])).toEqual([
      ['Send it?', 'Yes'],
      ['When?', 'Later'],
    ])
  })

  it('invariant 3: a turn that fails asks nothing; a follow-up that is held back asks nothing', async () => {
    const s = shared()
    act = (turn) => {
      if (turn.event.type === 'user_message' && turn.event.seq > 1) {
        turn.ask('never')
        throw new Error('no luck')
      }
      if (turn.event.type === 'user_message')
        return turn.schedule('f', { in: 60, cancelOnReply: true })
      turn.say('one')
      return turn.ask('held back by the cooldown')
    }
    await say('go')
    await s.advanceBy(MINUTE)
    await say('again')
    await s.advanceBy(10 * MINUTE)
    expect(await questions()).toEqual([])
    const said = (await messages()).map((each) => JSON.stringify(each))
    expect(said).toHaveLength(2)
    expect(said[1]).toContain('Sorry, something went wrong. Please try again.')
  })

  it.each(['alarm', 'intent'])(
    'unattended: what a fire of an %s asks takes its default at once, and says nothing',
    async (kind) => {
      const s = shared()
      const asked: unknown[] = []
      act = (turn) => {
        if (turn.answer !== null) return heard.push(turn.answer)
        try {
          return turn.ask('Send it?', { default: 'No', until: 'in 1 hour' })
        } finally {
          try {
            turn.ask('And this?')
          } catch (error) {
            asked.push((error as Error).message)
          }
        }
      }
      const common = { agent_id: 'bot', unattended: 'default' }
      if (kind === 'alarm')
        await s.set({ kind: 'once', delay_seconds: 60, wake_message: 'w', ...common })
      else {
        const made = await s.call('POST', '/v1/intents', {
          ...{
            user_id: 'local',
            intent_name: 'i',
            trigger_type: 'once',
            action_context: 'c',
            ...common,
          },
          trigger_schedule: { datetime: '2026-01-01T00:01:00Z' },
        })
        expect(made.status, made.text).toBe(201)
      }
      await s.advanceBy(2 * MINUTE)
      expect(heard).toMatchObject([{ answer: 'No', by: 'unattended' }])
      expect(asked).toEqual([expect.stringContaining('nobody watches')])
      expect(await messages()).toEqual([])
    },
  )

  it('rule 40: asked unasked in quiet hours it waits with its fire', async () => {
    const s = shared()
    await s.call('PUT', '/v1/people/local', {
      timezone: 'UTC',
      paused_until: '2026-01-01T05:00:00Z',
    })
    act = (turn) => turn.event.type === 'alarm' && turn.ask('Send it?')
    await s.set({ kind: 'once', delay_seconds: 60, wake_message: 'w', agent_id: 'bot' })
    await s.advanceBy(10 * MINUTE)
    expect(await questions()).toEqual([])
    await s.advanceBy(300 * MINUTE)
    expect(await questions()).toMatchObject([{ text: 'Send it?', status: 'open' }])
  })

  it('property: answers, calls, cancels and time in any order end each question once, and the agent hears of it once at most', async () => {
    const s = shared()
    const step = fc.constantFrom('say', 'call', 'cancel', 'time', 'settle')
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
        const key = `ann:bot:run${++run}`
        heard.length = 0
        await say('go', undefined, key)
        const [question] = await questions(`?session_key=${encodeURIComponent(key)}`)
        const { id } = question as Row
        const moves = steps.map((each) => {
          if (each === 'say') return s.call('POST', `/v1/sessions/${key}/messages`, { text: 'yes' })
          if (each === 'call') return answer(id, 'No')
          if (each === 'cancel') return s.call('DELETE', `/v1/questions/${id}`)
          return each === 'time' ? s.advanceBy(60 * MINUTE) : s.settle()
        })
        await Promise.all(moves)
        await s.settle()
        const [row] = await s.query<Row>('select * from wakeful.questions where id = $1', [id])
        const mine = heard.filter((each) => each?.id === id)
        if (row.status === 'open' || row.status === 'cancelled') expect(mine).toEqual([])
        else expect(mine).toMatchObject([{ answer: row.answer, by: row.answered_by }])
        expect(row.due_at === null).toBe(row.status !== 'open')
      }),
      { numRuns: 12 },
    )
  })
})
