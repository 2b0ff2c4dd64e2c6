import { defineConfig } from 'vitest/config'
import { quickFolder } from './test/setup/memory.ts'
import { SlowestFirst } from './test/setup/order.ts'
import { ONE_STORE, SLICED, SLICED_ALWAYS } from './test/setup/sliced.ts'

// For this process, which starts PostgreSQL, and for the workers, which inherit it.
process.env.TMPDIR = quickFolder()

const shared = {
  setupFiles: ['test/setup/recycle.ts', 'test/setup/hooks.ts'],
  // Bounds for what hangs, never for what is slow: a busy machine stays far below them.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 120_000 } },
  pool: 'forks',
  // Modules are loaded once for each worker: loading them took longer than most files' tests.
  isolate: false,
} as const

/** `npm run test:slices`: all that can run on several slices, there and nowhere else. */
const everythingSliced = process.env.WAKEFUL_TEST_SLICES === 'all'

const slices = {
  ...{ ...shared, name: 'slices', provide: { stores: ['slices'] as const } },
  include: everythingSliced ? SLICED : SLICED_ALWAYS,
  exclude: ONE_STORE,
}
const stores = {
  ...{ ...shared, name: 'stores', provide: { stores: ['pglite', 'postgres'] as const } },
  include: ['test/**/*.test.ts'],
  exclude: ['test/slices/**'],
}

export default defineConfig({
  test: {
    globalSetup: ['test/setup/postgres.ts'],
    // More than there are cores: much of the time is spent waiting for processes, browsers and leases.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    projects: (everythingSliced ? [slices] : [stores, slices]).map((test) => ({ test })) as never,
  },
})
