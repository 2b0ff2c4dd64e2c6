/** Signed events from outside as signals for intents. */
import type { Pack } from '../../../src/app/pack.ts'
import { hooks } from './operations.ts'
import { receiveHook } from './receive.ts'

export const hooksPack = {
  name: 'hooks',
  operations: hooks,
  open: async (_config, app) => ({
    hooks: (name, request) => receiveHook(app, name, request),
  }),
} as const satisfies Pack
