/** All that may be asked of the kernel, area by area. With the operations of packs it is the table that every door is made from. */
import { alarms } from './alarms/alarms.ts'
import { links } from './channels/links.ts'
import type { Operation } from './contract.ts'
import { agentAuth } from './identity/agent-auth.ts'
import { agents } from './identity/agents.ts'
import { audit } from './identity/audit.ts'
import { keys } from './identity/keys.ts'
import { tickets } from './identity/tickets.ts'
import { intents } from './intents/reports.ts'
import { signals } from './intents/signals.ts'
import { sources } from './intents/sources.ts'
import { activity } from './ledger/activity.ts'
import { ledger } from './ledger/ledger.ts'
import { overviews } from './ledger/overview.ts'
import { stops } from './limits/stops.ts'
import { people } from './people/people.ts'
import { questions } from './questions/questions.ts'
import { capabilities } from './service/capabilities.ts'
import { doctor } from './service/doctor.ts'
import { schedules } from './service/schedules.ts'
import { promises } from './sessions/promises.ts'
import { sessions } from './sessions/sessions.ts'
import { timers } from './sessions/timers.ts'
import { subscriptions } from './subscriptions/subscriptions.ts'
import { work } from './work/work.ts'

const areas = [
  sessions,
  promises,
  questions,
  timers,
  alarms,
  intents,
  signals,
  sources,
  work,
  subscriptions,
  people,
  stops,
  schedules,
  capabilities,
  overviews,
  activity,
  ledger,
  links,
  agents,
  keys,
  agentAuth,
  tickets,
  audit,
  doctor,
] as const

export const kernelOperations: readonly Operation[] = areas.flat()

/** The rows with their names and schemas, for types made of them; an area says none of its own type, or it loses them. */
export type Row = (typeof areas)[number][number]
