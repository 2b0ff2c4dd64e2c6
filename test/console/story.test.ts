/** How the console tells a session: from rows to words. */
import { describe, expect, test } from 'vitest'
import type { Effect, Reason, SessionEvent, Turn } from '../../packages/console/src/api/shapes.ts'
import { conversationOf, passagesOf } from '../../packages/console/src/session/story.ts'
import { gateWords, turnWords, verdictWords } from '../../packages/console/src/session/words.ts'

const at = (second: number) => new Date(Date.UTC(2030, 0, 1, 12, 0, second)).toISOString()
const NOW = Date.parse(at(0))

function event(seq: number, type: string, payload: unknown): SessionEvent {
  return { id: `event-${seq}`, seq, type, payload, created_at: at(seq) }
}

function turn(eventSeq: number, more: Partial<Turn> = {}): Turn {
  const base = { event_seq: eventSeq, attempt: 1, status: 'committed' as const }
  const times = { started_at: at(eventSeq), finished_at: at(eventSeq) }
  return { ...base, ...times, effect_ids: [], verdicts: [], ...more }
}

function message(id: string, second: number, content: string, reason: Reason = 'answer'): Effect {
  const base = { type: 'send_message', reason, status: 'completed' as const, attempt_count: 1 }
  return { ...base, id, payload: { content }, created_at: at(second) }
}

describe('words', () => {
  test('say why a message was let through or held back', () => {
    const cap = { allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 }
    expect(verdictWords(cap)).toBe('held back: 3 unanswered follow-ups in a row, cap 3')
    const once = { ...cap, count: 1, max: 1 }
    expect(verdictWords(once)).toBe('held back: 1 unanswered follow-up in a row, cap 1')
    const cooling = { allowed: false, rule: 'cooldown_active', count: 1, max: 3, until: at(9) }
    expect(verdictWords(cooling)).toMatch(/^held back: cooling down until /)
    expect(verdictWords({ allowed: true, rule: 'promised' })).toBe('let through: it was promised')
    expect(verdictWords({ allowed: false, rule: 'quiet_hours' })).toBe('held back: quiet hours')
    const quiet = { allowed: false, rule: 'quiet_hours', until: at(9) }
    expect(verdictWords({ ...quiet, deferred: true })).toMatch(/^deferred: quiet hours; comes at /)
    const dropped = verdictWords({ ...quiet, deferred: false })
    expect(dropped).toBe('held back: quiet hours; it is not sent later')
  })

  test('say whether the agent may speak, and open a gate whose time has come', () => {
    const cooling = { allowed: false, reason: 'cooldown_active', until: at(12) }
    expect(gateWords(cooling, 1, NOW)).toMatchObject({ state: 'cooling down' })
    expect(gateWords(cooling, 1, NOW).text).toContain('12 s')
    expect(gateWords(cooling, 1, Date.parse(at(12))).state).toBe('open')
    const closed = { allowed: false, reason: 'hard_cap_reached' }
    expect(gateWords(closed, 3, NOW)).toMatchObject({ state: 'closed' })
    const quiet = gateWords({ allowed: false, reason: 'quiet_hours', until: at(12) }, 0, NOW)
    expect(quiet).toMatchObject({ state: 'quiet hours', tone: 'own' })
    expect(quiet.text).toContain('The person has quiet hours now until ')
    const stopped = gateWords({ allowed: false, reason: 'stopped' }, 0, NOW)
    expect(stopped).toMatchObject({ state: 'stopped', tone: 'bad' })
  })

  test('say what became of a turn', () => {
    expect(turnWords(turn(1))).toBe('Turn committed in 0 ms')
    expect(turnWords(turn(1, { status: 'failed', attempt: 5 }))).toBe(
      'Turn failed after 5 attempts',
    )
    expect(turnWords(turn(1, { status: 'running', attempt: 2, finished_at: null }))).toBe(
      'Turn running, attempt 2',
    )
  })
})

describe('a conversation', () => {
  const hello = event(1, 'user_message', { text: 'hello' })
  const nudge = event(3, 'timer', { timer_id: 'check-in' })

  test('marks what was unasked, and keeps what was held back in its place', () => {
    const held = { allowed: false, rule: 'hard_cap_reached', count: 3, max: 3 }
    const passages = passagesOf({
      doneSeq: 5,
      events: [hello, nudge, event(5, 'timer', { timer_id: 'check-in' })],
      turns: [
        turn(1, { effect_ids: ['a'] }),
        turn(3, { effect_ids: ['b'] }),
        turn(5, { verdicts: [held] }),
      ],
      effects: [message('a', 2, 'hi'), message('b', 4, 'still there?', 'follow_up')],
    })
    expect(conversationOf(passages)).toMatchObject([
      { kind: 'user', text: 'hello' },
      { kind: 'agent', text: 'hi', unasked: null },
      { kind: 'agent', text: 'still there?', unasked: 'follow-up, after timer “check-in”' },
      { kind: 'unsaid', failed: false, text: expect.stringContaining('held back: 3') },
    ])
  })

  test('orders by time: an answer may come after the next message', () => {
    const again = event(2, 'user_message', { text: 'and?' })
    const rows = { turns: [turn(1, { effect_ids: ['a'] })], effects: [message('a', 4, 'hi')] }
    const passages = passagesOf({ doneSeq: 1, events: [hello, again], ...rows })
    const told = conversationOf(passages).map((saying) => saying.text)
    expect(told).toEqual(['hello', 'and?', 'hi', 'The agent is working …'])
    expect(conversationOf(passages, true).at(-1)?.text).toContain('Stopped')
  })

  test('says that an attempt failed and that the agent gave up', () => {
    const failing = turn(1, { status: 'retrying', error: 'overloaded' })
    const trying = passagesOf({ doneSeq: 0, events: [hello], turns: [failing], effects: [] })
    expect(conversationOf(trying).at(-1)?.text).toBe('Attempt 1 failed, trying again: overloaded')
    const gone = turn(1, { status: 'failed', attempt: 2, error: 'overloaded' })
    const over = passagesOf({ doneSeq: 1, events: [hello], turns: [failing, gone], effects: [] })
    expect(conversationOf(over).slice(1)).toMatchObject([
      { kind: 'unsaid', failed: true, text: 'The agent failed and gave up: overloaded' },
    ])
  })

  test('survives payloads of any shape', () => {
    const odd = [null, 7, 'text', [], { text: 5 }].map((payload, index) =>
      event(index + 1, index % 2 === 0 ? 'user_message' : 'alarm', payload),
    )
    const passages = passagesOf({ doneSeq: 9, events: odd, turns: [], effects: [] })
    expect(conversationOf(passages)).toHaveLength(3)
  })
})
