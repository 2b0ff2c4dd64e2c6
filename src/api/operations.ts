/** All that may be asked of Wakeful, area by area. Every door is made from this table. */
import { alarms } from './alarms.ts'
import type { Operation } from './contract.ts'
import { doctor } from './doctor.ts'
import { schedules } from './schedules.ts'
import { sessions } from './sessions.ts'
import { timers } from './timers.ts'

const areas = [sessions, timers, alarms, schedules, doctor] as const

export const operations: readonly Operation[] = areas.flat()

/** The rows with their names and schemas, for types made of them; an area says none of its own type, or it loses them. */
export type Row = (typeof areas)[number][number]
