/** Limits for runaways as pure rules: where a chain comes from, what may be set and what may fire. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  calledBy,
  childOf,
  fromOutside,
  isSelfMade,
  type Lineage,
  lineageOf,
  lineageText,
  ORIGINS,
  ROOTS,
  readLineage,
} from '../../src/features/limits/lineage.ts'
import {
  DEFAULT_LIMITS,
  dayEnds,
  dayOf,
  depthAllowed,
  judgeFire,
  judgeSetting,
  LIMITS,
  type Limits,
  NOTHING_USED,
  noticeText,
  refusedText,
  stepOf,
} from '../../src/features/limits/rules.ts'

const DAY_MS = 86_400_000
const seconds = fc.integer({ min: 0, max: 4_000_000_000 }).map((second) => new Date(second * 1000))
const lineages: fc.Arbitrary<Lineage> = fc.record({
  root: fc.record({
    kind: fc.constantFrom(...ROOTS),
    id: fc.oneof(fc.uuid(), fc.constantFrom('admin', 'service')),
    at: seconds,
  }),
  depth: fc.integer({ min: 0, max: 1_000_000 }),
  origin: fc.option(fc.constantFrom(...ORIGINS)),
})
const tight: Limits = { ...DEFAULT_LIMITS, depthMax: 3, firesMax: 5, pendingMax: 4 }

describe('lineage', () => {
  it('is read as it was written, and nothing else is taken for one', () => {
    fc.assert(
      fc.property(lineages, (lineage) => {
        expect(readLineage(lineageText(lineage))).toEqual(lineage)
      }),
    )
    for (const text of [null, '', 'x', '1.2']) expect(readLineage(text)).toBeNull()
  })

  it('grows by one with each fire, and keeps its root and origin, however long the chain', () => {
    fc.assert(
      fc.property(lineages, fc.integer({ min: 1, max: 50 }), (lineage, fires) => {
        let last = lineage
        for (let n = 0; n < fires; n++) last = childOf(last)
        expect(last).toEqual({ ...lineage, depth: lineage.depth + fires })
      }),
    )
  })

  it('begins anew with a message of the person and with nothing a trigger does', () => {
    const at = new Date(0)
    const message = lineageOf({ type: 'user_message', id: 'm', at, lineage: null })
    expect(childOf(message)).toMatchObject({ depth: 1, root: { kind: 'message', id: 'm' } })
    for (const type of ['timer', 'alarm', 'intent', 'work', 'digest'] as const) {
      const deep = lineageText({ ...message, depth: 7 })
      expect(lineageOf({ type, id: 'e', at, lineage: deep })).toMatchObject({ depth: 7 })
    }
  })

  it('what a person or program sets is not counted, what an agent or the outside does is', () => {
    const at = new Date(0)
    const direct = childOf(lineageOf({ type: 'user_message', id: 'm', at, lineage: null }))
    expect(isSelfMade(direct)).toBe(false)
    expect(isSelfMade(calledBy({ role: 'admin', keyId: null }, at))).toBe(false)
    expect(isSelfMade(calledBy({ role: 'agent', keyId: 'k' }, at))).toBe(true)
    expect(isSelfMade(childOf(direct))).toBe(true)
    expect(isSelfMade(fromOutside(direct, 'news'))).toBe(true)
  })
})

describe('limits', () => {
  it('an agent that sets itself anew no more often than the limit a day is never refused, for years', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 20_000 }),
        (depthMax, days) => {
          const limits = { ...DEFAULT_LIMITS, depthMax }
          const root = { kind: 'message', id: 'm', at: new Date(0) } as const
          const lineage = { root, depth: depthMax * days, origin: null }
          const now = new Date((days - 1) * DAY_MS + 1)
          expect(judgeSetting(lineage, NOTHING_USED, limits, now)).toBeNull()
          const over = judgeSetting(childOf(lineage), NOTHING_USED, limits, now)
          expect(over).toEqual({ limit: 'depth', used: depthMax * days + 1, max: depthMax * days })
        },
      ),
    )
  })

  it('what a person set is refused by no count, whatever agents have used up beside it', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), seconds, (fires, pending, at) => {
        const used = { ...NOTHING_USED, fires, pending }
        const direct = { root: { kind: 'message', id: 'm', at }, depth: 1, origin: null } as const
        expect(judgeFire(direct, used, tight)).toBeNull()
        expect(judgeSetting(direct, used, tight, at)).toBeNull()
      }),
    )
  })

  it('a fire is refused exactly from the limit on, and more use never allows what less refused', () => {
    fc.assert(
      fc.property(lineages, fc.nat(20), fc.nat(20), (lineage, fires, more) => {
        const over = judgeFire(lineage, { ...NOTHING_USED, fires }, tight)
        expect(over !== null).toBe(isSelfMade(lineage) && fires >= tight.firesMax)
        const later = judgeFire(lineage, { ...NOTHING_USED, fires: fires + more }, tight)
        if (over !== null) expect(later).not.toBeNull()
      }),
    )
  })

  it('calls and money hold for every fire, where they are limited at all', () => {
    const direct = calledBy({ role: 'admin', keyId: null }, new Date(0))
    const used = { ...NOTHING_USED, calls: 3, usd: 1.5 }
    expect(judgeFire(direct, used, DEFAULT_LIMITS)).toBeNull()
    expect(judgeFire(direct, used, { ...DEFAULT_LIMITS, callsMax: 3 })?.limit).toBe('calls')
    expect(judgeFire(direct, used, { ...DEFAULT_LIMITS, usdMax: 1.5 })?.limit).toBe('usd')
    expect(judgeFire(direct, used, { ...DEFAULT_LIMITS, usdMax: 1.51 })).toBeNull()
  })

  it('content from outside sets nothing where its origin is refused, and anything where it is not', () => {
    fc.assert(
      fc.property(lineages, fc.subarray([...ORIGINS]), (lineage, refusedOrigins) => {
        const shallow = { ...lineage, depth: 1 }
        const over = judgeSetting(
          shallow,
          NOTHING_USED,
          { ...DEFAULT_LIMITS, refusedOrigins },
          lineage.root.at,
        )
        const refused = lineage.origin !== null && refusedOrigins.includes(lineage.origin)
        expect(over?.limit ?? null).toBe(refused ? 'origin' : null)
      }),
    )
  })

  it('days are of UTC and end at midnight; a root of the future allows one day', () => {
    fc.assert(
      fc.property(seconds, (now) => {
        const ends = dayEnds(now)
        expect(dayOf(ends) > dayOf(now)).toBe(true)
        expect(dayOf(new Date(ends.getTime() - 1))).toBe(dayOf(now))
        const lineage = calledBy({ role: 'admin', keyId: null }, new Date(now.getTime() + DAY_MS))
        expect(depthAllowed(lineage, tight, now)).toBe(tight.depthMax)
      }),
    )
  })

  it('is told a hundredth at a time, and at once where it is small', () => {
    expect([1, 99, 100, 250, 10_000].map(stepOf)).toEqual([1, 1, 1, 2, 100])
  })

  it('has words for each limit, for the agent and for the person', () => {
    for (const limit of LIMITS) {
      const over = { limit, used: 7, max: 6, origin: 'news' } as const
      expect(refusedText(over, { userId: 'ann', agentId: 'bot' })).toMatch(/^over_budget: .+ann/)
      expect(noticeText(over, 'bot')).toContain('bot')
    }
  })
})
