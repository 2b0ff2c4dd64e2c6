import { defineConfig } from 'vitest/config'
import { quickFolder } from './test/setup/memory.ts'
import { SlowestFirst } from './test/setup/order.ts'

// For this process, which starts PostgreSQL, and for the workers, which inherit it.
process.env.TMPDIR = quickFolder()

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    provide: { stores: ['pglite', 'postgres'] },
    globalSetup: ['test/setup/postgres.ts'],
    setupFiles: ['test/setup/recycle.ts', 'test/setup/hooks.ts'],
    // Bounds for what hangs, never for what is slow: a busy machine stays far below them.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    // Modules are loaded once for each worker: loading them took longer than most files' tests.
    isolate: false,
    // More than there are cores: much of the time is spent waiting for processes, browsers and leases.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
  },
})
