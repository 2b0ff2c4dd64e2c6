import { defineConfig } from 'vitest/config'
import { quickFolder } from './test/setup/memory.ts'

process.env.TMPDIR = quickFolder()

/** For everyday work, part of `npm run quick`: what needs no store, and the main paths on the embedded one. */
export default defineConfig({
  test: {
    include: [
      'test/*.test.ts',
      'test/{core,schedule}/*.test.ts',
      'test/agents/{answer,excerpt}.test.ts',
      'test/alarms/{lifecycle,fires}.test.ts',
      'test/api/{perform,intents}.test.ts',
      'test/channels/websocket.test.ts',
      'test/client/{routes,transport}.test.ts',
      'test/companion/understand.test.ts',
      'test/engine/{outbox,service}.test.ts',
      'test/http/{server,idempotency,schedules}.test.ts',
      'test/mcp/words.test.ts',
      'test/sessions/{gates,promises,socket,timers}.test.ts',
      'test/triggers/{work,intent-runs}.test.ts',
    ],
    // A quarter of a minute of random schedules: for `npm test`.
    exclude: ['test/schedule/properties.test.ts'],
    provide: { stores: ['pglite'] },
    setupFiles: ['test/setup/recycle.ts', 'test/setup/hooks.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
  },
})
