/** All that may be asked of Wakeful, area by area. Every door is made from this table. */
import { agents } from './agents.ts'
import { alarms } from './alarms.ts'
import type { Operation } from './contract.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { telegram } from './telegram.ts'
import { timers } from './timers.ts'

export const operations: readonly Operation[] = [
  ...sessions,
  ...timers,
  ...alarms,
  ...schedules,
  ...agents,
  ...telegram,
]
