import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/postgres.ts'],
    setupFiles: ['test/setup/recycle.ts', 'test/setup/hooks.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    isolate: false,
    // More than there are cores: much of the time is spent waiting for processes, browsers and leases.
    maxWorkers: 3,
  },
})
