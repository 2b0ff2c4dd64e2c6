/**
 * Invariants 1 to 11 in simulated lives: two processes that die, freeze, lose their connections and are told the wrong time, on one
 * store, with everything from a seed. `npm run simulate -- --seeds 10000` is the same for longer.
 */
import { describe, expect, it } from 'vitest'
import { afterEachFile } from '../setup/ends.ts'
import { planOf } from './plan.ts'
import { Stage } from './stage.ts'

const SEEDS = 100
const STEPS = 50

let stage: Stage | null = null
const opened = async () => (stage ??= await Stage.open())
afterEachFile(async () => {
  await stage?.close()
  stage = null
})

describe('simulation', () => {
  it('invariants 1 to 11 hold at every step of a hundred lives', { timeout: 600_000 }, async () => {
    const house = await opened()
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { wrong, step } = await house.run({ seed, plan: planOf(seed, STEPS) })
      expect(wrong === null ? null : `seed ${seed}, step ${step}: ${wrong}`).toBeNull()
    }
  })

  it('the same seed makes the same life, to the id', async () => {
    const house = await opened()
    const play = { seed: 12, plan: planOf(12, STEPS) }
    const first = await house.run(play)
    await house.run({ seed: 8, plan: planOf(8, STEPS) })
    const again = await house.run(play)
    expect(again.story).toEqual(first.story)
    expect(again.end).toEqual(first.end)
    expect(first.end?.events.length).toBeGreaterThan(5)
  })
})

describe('planted faults', () => {
  const replaced = (what: string, by: string) => (text: string) => text.replace(what, by)
  /** `from`: near lives that meet it, since not many do. */
  const first = async (fault: (text: string) => string, from = 1) => {
    const house = await opened()
    for (let seed = from; seed < from + SEEDS; seed++) {
      const play = { seed, plan: planOf(seed, STEPS), fault }
      const outcome = await house.run(play)
      if (outcome.wrong !== null) return { play, outcome }
    }
    throw new Error('the fault was not found')
  }

  it('invariant 5: commits without their fence are found', async () => {
    const { outcome } = await first(replaced('and s.claim_token = i.token', ''), 150)
    // What two commits of one turn say counts twice, too.
    expect(outcome.wrong).toMatch(/^[2357]: /)
  })

  it('invariant 8: a message that cancels no timer is found, made small, and told again the same', async () => {
    const { play, outcome } = await first(replaced('where h.spoke and', 'where false and'))
    expect(outcome.wrong).toMatch(/^8: .* was said and .* still waits/)
    const { plan, outcome: least } = await (await opened()).shrink(play, outcome)
    expect(plan.length).toBeLessThan(10)
    const again = await (await opened()).run({ ...play, plan })
    expect(again).toEqual(least)
  })
})
