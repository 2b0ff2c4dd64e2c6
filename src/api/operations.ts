/** All that may be asked of Wakeful, area by area. Every door is made from this table. */
import { agentAuth } from './agent-auth.ts'
import { alarms } from './alarms.ts'
import { audit } from './audit.ts'
import { capabilities } from './capabilities.ts'
import type { Operation } from './contract.ts'
import { intents } from './intent-reports.ts'
import { keys } from './keys.ts'
import { overviews } from './overview.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { signals } from './signals.ts'
import { sources } from './sources.ts'
import { tickets } from './tickets.ts'
import { timers } from './timers.ts'
import { work } from './work.ts'

/** Who may come in, and what they did. */
const identity = [...keys, ...agentAuth, ...tickets, ...audit]

export const operations: readonly Operation[] = [
  ...sessions,
  ...timers,
  ...alarms,
  ...intents,
  ...signals,
  ...sources,
  ...work,
  ...schedules,
  ...capabilities,
  ...overviews,
  ...identity,
]
