/** All that may be asked of Wakeful, area by area. Every door is made from this table. */
import { agentAuth } from './agent-auth.ts'
import { alarms } from './alarms.ts'
import { audit } from './audit.ts'
import type { Operation } from './contract.ts'
import { keys } from './keys.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { tickets } from './tickets.ts'
import { timers } from './timers.ts'

/** Who may come in, and what they did. */
const identity = [...keys, ...agentAuth, ...tickets, ...audit]

export const operations: readonly Operation[] = [
  ...sessions,
  ...timers,
  ...alarms,
  ...schedules,
  ...identity,
]
