/** Quiet hours as stretches of each day of the week, for drawing. Pure. */
import { type QuietWindow, WEEKDAYS, type Weekday } from './shapes.ts'

export const DAY_MINUTES = 1_440
const CLOCK = /^(\d{1,2}):(\d\d)$/

export interface Stretch {
  readonly from: number
  readonly to: number
}

function minutesOf(clock: string): number | null {
  const [, hours, minutes] = CLOCK.exec(clock.trim()) ?? []
  const all = Number(hours) * 60 + Number(minutes)
  return all >= 0 && all <= DAY_MINUTES && Number(minutes) < 60 ? all : null
}

/** What goes beyond midnight is shown on the next day; what is only half written is left out. */
export function stretchesOf(windows: readonly QuietWindow[]): Record<Weekday, Stretch[]> {
  const found = Object.fromEntries(WEEKDAYS.map((day) => [day, []])) as unknown as Record<
    Weekday,
    Stretch[]
  >
  for (const { days = WEEKDAYS, ...clock } of windows) {
    const from = minutesOf(clock.from)
    const to = minutesOf(clock.to)
    if (from === null || to === null || from === to) continue
    for (const day of days) {
      found[day].push({ from, to: to > from ? to : DAY_MINUTES })
      if (to <= from && to > 0) found[dayAfter(day)].push({ from: 0, to })
    }
  }
  for (const day of WEEKDAYS) found[day] = joined(found[day])
  return found
}

/** Those that overlap or touch are one. */
function joined(stretches: readonly Stretch[]): Stretch[] {
  const apart: Stretch[] = []
  for (const each of stretches.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1)
    if (last === undefined || each.from > last.to) apart.push(each)
    else apart[apart.length - 1] = { from: last.from, to: Math.max(last.to, each.to) }
  }
  return apart
}

const dayAfter = (day: Weekday) => WEEKDAYS[(WEEKDAYS.indexOf(day) + 1) % 7] ?? 'mon'

/** Which day it is for somebody, and which minute of it. */
export function wallOf(now: number, timeZone: string): { day: Weekday; minute: number } {
  const parts = new Intl.DateTimeFormat('en', {
    ...{ timeZone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  }).formatToParts(now)
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? ''
  return {
    day: of('weekday').toLowerCase() as Weekday,
    minute: Number(of('hour')) * 60 + Number(of('minute')),
  }
}
