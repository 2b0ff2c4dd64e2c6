/** Runs under leases keep them for as long as they run. */
import { afterEach, expect, it, vi } from 'vitest'
import { LeasedRuns } from '../../src/kernel/leased-runs.ts'
import type { Meter } from '../../src/kernel/meter.ts'

const LEASE_MS = 3_000

afterEach(() => {
  vi.useRealTimers()
})

it('a run that lasts ten leases is extended three times in each of them', async () => {
  vi.useFakeTimers()
  let end = () => {}
  const work = new Promise<void>((done) => {
    end = done
  })
  const extended: string[] = []
  const leased = new LeasedRuns<string>({
    leaseMs: LEASE_MS,
    keyOf: (run) => run,
    extend: async (runs) => {
      extended.push(...runs)
      return new Set(runs)
    },
    lost: () => {},
    meter: { trouble: () => {} } as unknown as Meter,
  })
  leased.start('a', 'a', work, () => {})
  await vi.advanceTimersByTimeAsync(10 * LEASE_MS)
  expect(extended).toHaveLength(30)
  end()
  await leased.settle()
  await leased.end(0)
})
