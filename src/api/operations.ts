/** All that may be asked of the kernel, area by area. With the operations of packs it is the table that every door is made from. */

import { alarmChanges } from '../features/alarms/change-operations.ts'
import { alarms } from '../features/alarms/operations.ts'
import { agentAuth } from '../features/identity/agent-auth-operations.ts'
import { agents } from '../features/identity/agent-operations.ts'
import { audit, keys, tickets } from '../features/identity/key-operations.ts'
import { intents } from '../features/intents/report-operations.ts'
import { signals } from '../features/intents/signal-operations.ts'
import { activity } from '../features/ledger/activity-operations.ts'
import { inbox } from '../features/ledger/inbox-operations.ts'
import { slots } from '../features/ledger/mark-operations.ts'
import { ledger } from '../features/ledger/operations.ts'
import { overviews } from '../features/ledger/overview-operations.ts'
import { stops } from '../features/limits/stop-operations.ts'
import { directory } from '../features/people/directory-operations.ts'
import { people } from '../features/people/operations.ts'
import { questions } from '../features/questions/operations.ts'
import { scheduleOperations } from '../features/schedules/operations.ts'
import { sessions } from '../features/sessions/operations.ts'
import { promises } from '../features/sessions/promise-operations.ts'
import { timers } from '../features/timers/operations.ts'
import { work } from '../features/work/operations.ts'
import type { Operation } from './contract.ts'
import { capabilities, schedules } from './schedules.ts'

const areas = [
  sessions,
  promises,
  questions,
  timers,
  alarms,
  alarmChanges,
  intents,
  signals,
  work,
  directory,
  people,
  stops,
  schedules,
  scheduleOperations,
  capabilities,
  overviews,
  activity,
  ledger,
  slots,
  inbox,
  agents,
  keys,
  agentAuth,
  tickets,
  audit,
] as const

export const kernelOperations: readonly Operation[] = areas.flat()

/** The rows with their names and schemas, for types made of them; an area says none of its own type, or it loses them. */
export type Row = (typeof areas)[number][number]
