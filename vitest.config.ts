import { defineConfig } from 'vitest/config'
import { quickFolder } from './test/setup/memory.ts'
import { SlowestFirst } from './test/setup/order.ts'
import { ONE_STORE, SHARDED, SHARDED_ALWAYS } from './test/setup/sharded.ts'

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

/** `npm run test:shards`: all that can run on several shards, there and nowhere else. */
const everythingSharded = process.env.WAKEFUL_TEST_SHARDS === 'all'

const shards = {
  ...{ ...shared, name: 'shards', provide: { stores: ['shards'] as const } },
  include: everythingSharded ? SHARDED : SHARDED_ALWAYS,
  exclude: ONE_STORE,
}
/** On a server of another version the embedded store is not tried again. */
const onePostgres = process.env.WAKEFUL_TEST_POSTGRES !== undefined

const stores = {
  ...shared,
  name: 'stores',
  provide: { stores: onePostgres ? (['postgres'] as const) : (['pglite', 'postgres'] as const) },
  include: ['test/**/*.test.ts'],
  exclude: ['test/shards/**'],
}

export default defineConfig({
  test: {
    globalSetup: ['test/setup/postgres.ts'],
    // More than there are cores: much of the time is spent waiting for processes, browsers and leases.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    projects: (everythingSharded ? [shards] : [stores, shards]).map((test) => ({ test })) as never,
  },
})
