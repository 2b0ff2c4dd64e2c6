import type { Pack } from '../../../src/app/pack.ts'
import { subscriptions } from './operations.ts'

export const subscriptionsPack = {
  name: 'subscriptions',
  operations: subscriptions,
} as const satisfies Pack
