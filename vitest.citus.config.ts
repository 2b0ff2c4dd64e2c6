import { defineConfig } from 'vitest/config'
import { quickFolder } from './test/setup/memory.ts'

process.env.TMPDIR = quickFolder()

/** `npm run test:citus`: on the Citus cluster that WAKEFUL_TEST_CITUS_URL names, whose schemas of ours it drops. One file at a time. */
export default defineConfig({
  test: {
    include: ['test/shards/*.citus.ts', 'test/shards/reach.test.ts', 'test/identity/walk.test.ts'],
    provide: { stores: ['citus'] },
    setupFiles: ['test/setup/recycle.ts', 'test/setup/hooks.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    isolate: false,
    maxWorkers: 1,
  },
})
