/** However frames are lost, doubled and overtaken between processes: what a socket was shown is the beginning of one draft (contract). */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ClaimedTurn } from '../../src/features/sessions/rows.ts'
import {
  isLiveFrame,
  type LiveFrame,
  LiveTurn,
  LiveView,
  payloadsOf,
} from '../../src/kernel/live.ts'

const KEY = 'ann:bot:t'

/** What attempts have sent, and what each of their drafts became. */
function sent(attempts: readonly (string | null)[][], seq = 1) {
  const frames: LiveFrame[] = []
  const drafts: string[] = []
  for (const [attempt, writes] of attempts.entries()) {
    const claim = { session_key: KEY, seq, attempt, deaths: 0 } as ClaimedTurn
    const hints = { watches: () => true, live: (frame: LiveFrame) => void frames.push(frame) }
    const turn = new LiveTurn(claim, hints)
    turn.begin(0)
    let draft = ''
    for (const [nth, text] of writes.entries()) {
      if (text === null) {
        turn.retract()
        drafts.push(draft)
        draft = ''
      } else {
        turn.write(text)
        draft += text
      }
      // Long after the last typing, or right behind it.
      turn.sweep(nth % 3 === 2 ? Number.POSITIVE_INFINITY : 0)
    }
    drafts.push(draft)
  }
  return { frames, drafts }
}

const attempts = fc.array(fc.array(fc.option(fc.string({ minLength: 1 })), { maxLength: 8 }), {
  minLength: 1,
  maxLength: 3,
})

it('contract: after the last retract, the deltas joined are the beginning of one draft', () => {
  fc.assert(
    fc.property(attempts, fc.array(fc.nat()), (given, order) => {
      const { frames, drafts } = sent(given)
      // Some come twice, some never, in any order.
      const arriving = [...order.map((at) => frames[at % (frames.length || 1)]), ...frames]
      const view = new LiveView()
      let shown = ''
      for (const frame of arriving) {
        if (frame === undefined) continue
        for (const text of view.take(frame, 0)) {
          const { type, text: delta } = JSON.parse(text) as { type: string; text: string }
          if (type === 'retract') shown = ''
          if (type === 'delta') shown += delta
          expect(drafts.some((draft) => draft.startsWith(shown))).toBe(true)
        }
      }
    }),
  )
})

it('contract: undisturbed, the whole text of the last attempt is shown', () => {
  fc.assert(
    fc.property(attempts, (given) => {
      const { frames, drafts } = sent(given)
      const view = new LiveView()
      let shown = ''
      for (const frame of frames)
        for (const text of view.take(frame, 0)) {
          const { type, text: delta } = JSON.parse(text) as { type: string; text: string }
          if (type === 'retract') shown = ''
          if (type === 'delta') shown += delta
        }
      expect(shown).toBe(drafts.at(-1))
    }),
  )
})

it('contract: a turn whose message the socket has is not shown again', () => {
  const { frames } = sent([['once', ' upon']])
  const view = new LiveView()
  expect(frames.flatMap((frame) => view.take(frame, 1))).toEqual([])
})

it('NOTIFY takes 8000 bytes: long texts travel in pieces that join to the same', () => {
  const character = fc.constantFrom('x', '\n', '"', 'ü', '🦊', '\u0001')
  const texts = fc.array(fc.array(character, { maxLength: 5_000 }), { maxLength: 4 })
  fc.assert(
    fc.property(texts, (given) => {
      const key = `${'k'.repeat(128)}:${'k'.repeat(128)}:${'k'.repeat(128)}`
      const frames = given.map((parts): LiveFrame => {
        return { type: 'delta', key, seq: 1, draft: 0, at: 0, text: parts.join('') }
      })
      const payloads = payloadsOf(frames)
      for (const live of payloads) {
        const bytes = Buffer.byteLength(JSON.stringify({ from: 'x'.repeat(8), topics: [], live }))
        expect(bytes).toBeLessThan(8_000)
        expect(live.every(isLiveFrame)).toBe(true)
      }
      const textOf = (frame: LiveFrame) => (frame.type === 'delta' ? frame.text : '')
      expect(payloads.flat().map(textOf).join('')).toBe(frames.map(textOf).join(''))
    }),
    { numRuns: 50 },
  )
})
