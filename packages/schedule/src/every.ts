/** `@every 1h30m`: fixed intervals of whole seconds on a grid from an anchor, untouched by clock changes. */

import { DAY, HOUR, LAST_INSTANT, MINUTE, SECOND } from './calendar.ts'
import { quoted, ScheduleError } from './schedule.ts'

/** Longer than any plan; keeps every sum below 2^53. */
const LONGEST = 36_500 * DAY

const UNITS: ReadonlyArray<readonly [string, number]> = [
  ['d', DAY],
  ['h', HOUR],
  ['m', MINUTE],
  ['s', SECOND],
]

const ADVICE = 'write whole seconds or more such as "@every 90s", "@every 5m" or "@every 1h30m"'

/** Milliseconds of `1h30m`; units in falling order, each once. `null` if it is not a duration. */
function readDuration(text: string): number | null {
  let total = 0
  let at = 0
  let unitsLeft = UNITS
  while (at < text.length) {
    let end = at
    while (end < text.length && end - at < 12 && /[0-9]/.test(text[end] ?? '')) end += 1
    const index = unitsLeft.findIndex(([unit]) => unit === text[end])
    const unit = unitsLeft[index]
    if (end === at || unit === undefined) return null
    total += Number(text.slice(at, end)) * unit[1]
    unitsLeft = unitsLeft.slice(index + 1)
    at = end + 1
  }
  return at === 0 ? null : total
}

export function checkInterval(everyMs: number, shown: string): number {
  if (everyMs < SECOND) throw new ScheduleError(`${shown} is shorter than one second: ${ADVICE}`)
  if (everyMs > LONGEST) {
    throw new ScheduleError(`${shown} is longer than 100 years: ${ADVICE}`)
  }
  return everyMs
}

/** Reads what follows `@every`. */
export function readEvery(text: string): number {
  const duration = text.trim().toLowerCase()
  const everyMs = readDuration(duration)
  if (everyMs === null)
    throw new ScheduleError(`"@every" cannot read ${quoted(duration)}: ${ADVICE}`)
  return checkInterval(everyMs, `"@every ${duration.slice(0, 40)}"`)
}

/** `1h30m`: hours may exceed a day, as in Go. */
export function durationText(everyMs: number): string {
  let rest = everyMs
  let text = ''
  for (const [unit, size] of UNITS.slice(1)) {
    const amount = Math.floor(rest / size)
    rest -= amount * size
    if (amount > 0) text += `${amount}${unit}`
  }
  return text
}

/** The slots of the grid strictly after `after`; the first slot is one interval after the anchor. */
export function nextEvery(everyMs: number, after: number, anchor: number, count: number): number[] {
  const found: number[] = []
  let at = anchor + Math.max(1, Math.floor((after - anchor) / everyMs) + 1) * everyMs
  while (found.length < count && at <= LAST_INSTANT) {
    found.push(at)
    at += everyMs
  }
  return found
}

/** How many slots lie in (from, to]. */
export function countEvery(everyMs: number, from: number, to: number, anchor: number): number {
  const slots = (at: number) => Math.max(0, Math.floor((at - anchor) / everyMs))
  return Math.max(0, slots(to) - slots(from))
}
