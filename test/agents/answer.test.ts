/** How a remote agent's answer is read: strictly, completely, and without changing a digit. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLevel } from '../../packages/exact-json/src/index.ts'
import type { TurnInput } from '../../src/agents/agent.ts'
import { readAnswer } from '../../src/agents/remote.ts'
import { noDb } from '../http/door.ts'
import { ref } from '../setup/worlds.ts'

const INPUT: TurnInput = {
  session: ref('ann:far:t'),
  event: {
    id: '01890000-0000-7000-8000-000000000001',
    seq: 1,
    type: 'user_message',
    payload: '{"text":"hi"}',
    createdAt: new Date('2026-01-01T00:00:00Z'),
  },
  state: null,
  checkpointId: null,
  attempt: 1,
  startedAt: new Date('2026-01-01T00:00:00Z'),
  signal: new AbortController().signal,
  db: noDb,
}
const read = (text: string) => readAnswer(text, INPUT)
const timer = (more: string) =>
  `{"effects":[{"type":"schedule_timer","timer_id":"a","delay_seconds":1${more}}]}`

describe('a remote agent’s answer', () => {
  it.each([
    ['no JSON', 'hello', 'answer: not JSON'],
    ['a list', '[]', 'must be an object'],
    ['a number', '1', 'must be an object'],
    ['null as state', '{"state":null}', 'state: must be an object'],
    ['effects that are none', '{"effects":{}}', 'effects: must be a list'],
    ['an effect that is none', '{"effects":[1]}', 'effects[0]'],
    ['two equal keys', '{"state":{},"state":{}}', 'is there twice'],
    ['two equal keys deep down', '{"state":{"a":{"b":1,"b":2}}}', 'is there twice'],
    ['a NUL', '{"state":{"a":"\\u0000"}}', 'U+0000'],
    [
      'half of a surrogate pair',
      '{"effects":[{"type":"send_message","content":"\\ud800"}]}',
      'surrogate',
    ],
    ['a deep state', `{"state":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`, 'nested deeper'],
    ['a big payload', timer(`,"payload":"${'x'.repeat(70_000)}"`), 'larger than 65536 bytes'],
    ['both times', timer(',"fire_at":"2026-01-02T00:00:00Z"'), 'exactly one of'],
    ['an unknown field', timer(',"colour":1'), 'colour'],
    ['a time that is none', timer('').replace('"delay_seconds":1', '"fire_at":"soon"'), 'instant'],
    ['a negative delay', timer('').replace(':1}', ':-1}'), 'delay_seconds'],
    [
      'a long text',
      JSON.stringify({ effects: [{ type: 'send_message', content: 'é'.repeat(20_000) }] }),
      'at most 32768 bytes',
    ],
    [
      'an alarm without words',
      '{"effects":[{"type":"set_alarm","delay_seconds":1}]}',
      'wake_message',
    ],
    [
      'an alarm of wrong types',
      '{"effects":[{"type":"set_alarm","wake_message":"x","schedule":5}]}',
      'schedule',
    ],
    [
      'an alarm in no zone',
      '{"effects":[{"type":"set_alarm","wake_message":"x","delay_seconds":1,"timezone":"Mars"}]}',
      'Mars',
    ],
    [
      'a promise whose time is refused',
      '{"effects":[{"type":"promise","content":"I will","schedule":"often"}]}',
      'effects[0]',
    ],
    ['a promise without words', '{"effects":[{"type":"promise","delay_seconds":5}]}', 'content'],
    [
      'too many effects',
      `{"effects":[${Array(1001).fill('{"type":"cancel_timer","timer_id":"a"}')}]}`,
      'at most 1000 items',
    ],
  ])('with %s is refused in words', (_, text, words) => {
    expect(() => read(text)).toThrow(words)
  })

  it('says everything that is wrong at once, and stays short', () => {
    const effects = Array.from({ length: 300 }, () => ({ type: 'dance' }))
    expect(() => read(JSON.stringify({ a: 1, effects }))).toThrow(
      /"a": is not a known field;.*and 281 more$/,
    )
  })

  it('may be empty', () => {
    for (const text of ['', ' \n', '{}', '{"effects":[]}'])
      expect(read(text)).toEqual({ state: null, wishes: [] })
  })

  it('becomes wishes in the order it asks', () => {
    const { wishes } = read(
      `{"effects":[{"type":"send_message","content":"a"},{"type":"cancel_timer","timer_id":"b"},
        {"type":"schedule_timer","timer_id":"c","fire_at":"2026-01-02T00:00:00+01:00","payload":{"n":1.50}}]}`,
    )
    expect(wishes).toEqual([
      { type: 'send_message', content: 'a' },
      { type: 'cancel_timer', timerId: 'b' },
      {
        type: 'schedule_timer',
        timerId: 'c',
        fireAt: new Date('2026-01-01T23:00:00Z'),
        delayMs: null,
        payload: '{"n":1.50}',
      },
    ])
  })

  it('property: any state comes out as the text it went in as', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })),
        fc.constantFrom('', ' ', '\n'),
        (value, space) => {
          const state = JSON.stringify(value, null, space)
          fc.pre(!/\\u(0000|d[89a-f])/i.test(state))
          expect(read(`{"effects":[],${space}"state":${space}${state}${space}}`).state).toBe(state)
        },
      ),
    )
  })

  it('property: a list is taken apart into the texts of its items', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), (items) => {
        const texts = items.map((item) => JSON.stringify(item))
        fc.pre(!texts.some((text) => /\\u(0000|d[89a-f])/i.test(text)))
        const level = readLevel(`[ ${texts.join(' , ')} ]`) as { text: string }[]
        expect(level.map((item) => item.text)).toEqual(texts)
      }),
    )
  })
})
