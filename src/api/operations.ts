/** All that may be asked of Wakeful, area by area. Every door is made from this table. */
import { agentAuth } from './agent-auth.ts'
import { agents } from './agents.ts'
import { alarms } from './alarms.ts'
import { audit } from './audit.ts'
import { capabilities } from './capabilities.ts'
import type { Operation } from './contract.ts'
import { doctor } from './doctor.ts'
import { intents } from './intent-reports.ts'
import { keys } from './keys.ts'
import { ledger } from './ledger.ts'
import { overviews } from './overview.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { signals } from './signals.ts'
import { sources } from './sources.ts'
import { telegram } from './telegram.ts'
import { tickets } from './tickets.ts'
import { timers } from './timers.ts'
import { work } from './work.ts'

const areas = [
  sessions,
  timers,
  alarms,
  intents,
  signals,
  sources,
  work,
  schedules,
  capabilities,
  overviews,
  ledger,
  agents,
  telegram,
  keys,
  agentAuth,
  tickets,
  audit,
  doctor,
] as const

export const operations: readonly Operation[] = areas.flat()

/** The rows with their names and schemas, for types made of them; an area says none of its own type, or it loses them. */
export type Row = (typeof areas)[number][number]
