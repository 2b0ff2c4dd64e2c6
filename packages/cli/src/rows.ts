/** The command table: what can be asked of a running server from a terminal, and how the answers are shown. */
import type { Resource } from './row.ts'
import { alarms } from './rows/alarms.ts'
import { hooks } from './rows/hooks.ts'
import { intents } from './rows/intents.ts'
import { people } from './rows/people.ts'
import { questions } from './rows/questions.ts'
import { schedule } from './rows/schedule.ts'
import { sessions } from './rows/sessions.ts'
import { stop, stops } from './rows/stops.ts'
import { work } from './rows/work.ts'

export const RESOURCES: readonly Resource[] = [
  ...[schedule, alarms, intents, work, sessions, people, questions, hooks, stop, stops],
]
