/**
 * Wall clock to instants: when a cron expression fires in a zone, across clock changes.
 *
 * Fixed times (no star in minute and hour) stand for points of the day: each happens once, the first time the
 * clock shows it, or right after the gap that swallowed it. Expressions with a star follow elapsed time: they
 * fire at every instant whose wall clock matches, in both passes of an overlap, and nothing is made up for a gap.
 */

import { DAY, HOUR, LAST_INSTANT } from './calendar.ts'
import { type Compiled, compile, nextWall } from './wall.ts'
import { changesBetween, instantOf, offsetAt, type Zone, zoneOf } from './zone.ts'

/** No zone's offsets differ by more: what lies further apart on one clock keeps its order on the other. */
const SLACK = 2 * DAY

/** Yields fire instants strictly after `after`, ascending; null without one up to the year 9999. */
type Step = (after: number) => number | null

function nextElapsed(compiled: Compiled, zone: Zone, after: number): number | null {
  let from = after + 1
  for (;;) {
    const offset = offsetAt(zone, from)
    const wall = nextWall(compiled, from + offset)
    if (wall === null) return null
    const at = wall - offset
    const change = changesBetween(zone, from, Math.min(at, from + SLACK))[0]
    if (change !== undefined) from = change.at
    else if (at <= from + SLACK) return at
    else from = Math.max(from + SLACK, at - SLACK)
  }
}

/** The latest wall clock shown up to `at`: later than now during the second pass of an overlap. */
function reachedWall(zone: Zone, at: number): number {
  let reached = at + offsetAt(zone, at)
  for (const change of changesBetween(zone, at - 26 * HOUR, at)) {
    reached = Math.max(reached, change.at + change.before - 1)
  }
  return reached
}

function nextFixed(compiled: Compiled, zone: Zone, after: number): number | null {
  let wall = nextWall(compiled, reachedWall(zone, after) + 1)
  while (wall !== null) {
    const { at, gapMs } = instantOf(zone, wall)
    // A whole day that a country skipped (Samoa, 30 December 2011) is no daylight saving: that date never was.
    if (gapMs < DAY && at > after) return at
    wall = nextWall(compiled, wall + 1)
  }
  return null
}

/** The soonest of its parts, each by its own rule: parts that meet at one instant fire once. Steps go forward only. */
function stepper(expr: string, timezone: string): Step {
  const { parts } = compile(expr)
  const zone = zoneOf(timezone)
  const ahead: number[] = parts.map(() => Number.NEGATIVE_INFINITY)
  return (after) => {
    parts.forEach((part, i) => {
      if ((ahead[i] ?? 0) > after) return
      const at = (part.spec.fixed ? nextFixed : nextElapsed)(part, zone, after)
      ahead[i] = at ?? Number.POSITIVE_INFINITY
    })
    const soonest = Math.min(...ahead)
    return soonest > LAST_INSTANT ? null : soonest
  }
}

export function nextCron(expr: string, timezone: string, after: number, count: number): number[] {
  const step = stepper(expr, timezone)
  const found: number[] = []
  for (let at = step(after); at !== null && found.length < count; at = step(at)) found.push(at)
  return found
}

/** All fires in (from, to]; the caller keeps the window to a few days. */
export function cronBetween(expr: string, timezone: string, from: number, to: number): number[] {
  const step = stepper(expr, timezone)
  const found: number[] = []
  for (let at = step(from); at !== null && at <= to; at = step(at)) found.push(at)
  return found
}
