/** All that may be asked of Wakeful, area by area. Every door is made from this table. */
import { alarms } from './alarms.ts'
import type { Operation } from './contract.ts'
import { intents } from './intent-reports.ts'
import { ledger } from './ledger.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { signals } from './signals.ts'
import { sources } from './sources.ts'
import { timers } from './timers.ts'
import { work } from './work.ts'

export const operations: readonly Operation[] = [
  ...sessions,
  ...timers,
  ...alarms,
  ...intents,
  ...signals,
  ...sources,
  ...work,
  ...schedules,
  ...ledger,
]
