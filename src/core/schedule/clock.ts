/** Times of day in phrases: `9am`, `9:30 pm`, `at 7`, `noon`, `9 in the evening`, `9am and 5pm`. */

import { clockText } from './calendar.ts'
import { ScheduleError } from './schedule.ts'
import type { Cursor, ReadClock, Token } from './tokens.ts'

const NAMED: Record<string, number> = { noon: 12, midday: 12, midnight: 0 }

function toClock(hour: number, minute: number, half: 'am' | 'pm' | null, text: string): ReadClock {
  if (minute > 59 || hour > 23 || (half !== null && (hour < 1 || hour > 12))) {
    throw new ScheduleError(
      `${JSON.stringify(text)} is not a time of day; write 09:00, 9am or 17:30`,
    )
  }
  if (half === null) return { hour, minute, bare: false, half: false }
  return { hour: (hour % 12) + (half === 'pm' ? 12 : 0), minute, bare: false, half: true }
}

/** `am`, `pm`, `in the morning`, `in the afternoon`, `in the evening` after a number. */
function readHalf(cursor: Cursor): 'am' | 'pm' | null {
  const word = cursor.takeOne('am', 'pm')
  if (word !== null) return word.startsWith('a') ? 'am' : 'pm'
  if (cursor.take('in', 'the', 'morning')) return 'am'
  if (cursor.take('in', 'the', 'afternoon') || cursor.take('in', 'the', 'evening')) return 'pm'
  return null
}

/** One time of day, or null. A bare number counts only where `bare` says that a time is due ("at 7"). */
export function readClock(cursor: Cursor, bare: boolean): ReadClock | null {
  const token: Token | undefined = cursor.peek()
  if (token === undefined) return null
  const named = token.kind === 'word' ? NAMED[token.text] : undefined
  if (named !== undefined) {
    cursor.at += 1
    return { hour: named, minute: 0, bare: false, half: true }
  }
  if (token.kind === 'clock') {
    cursor.at += 1
    const half = token.half ?? readHalf(cursor)
    return toClock(token.hour, token.minute, half, token.text)
  }
  if (token.kind !== 'number' || token.text.length > 2) return null
  cursor.at += 1
  const half = readHalf(cursor)
  const oclock = cursor.takeOne("o'clock", 'oclock') !== null
  if (half === null && !bare && !oclock) {
    cursor.at -= 1
    return null
  }
  const clock = toClock(token.value, 0, half, token.text)
  return { ...clock, bare: half === null }
}

/** One or more times: `9am and 5pm`, `9, 12 and 17`. */
export function readClocks(cursor: Cursor, bare: boolean): ReadClock[] {
  const first = readClock(cursor, bare)
  if (first === null) return []
  const clocks = [first]
  for (;;) {
    const next = cursor.attempt(() => {
      if (!cursor.takeAnd()) return null
      cursor.take('at')
      return readClock(cursor, true)
    })
    if (next === null) break
    clocks.push(next)
  }
  if (clocks.some((clock) => clock.half) && clocks.some((clock) => clock.bare)) {
    throw new ScheduleError(
      'some of the times have am or pm and others do not; write each in full, for example 9am and 5pm, or 09:00 and 17:00',
    )
  }
  return clocks
}

/** What was assumed about a time. */
export function clockNotes(clocks: readonly ReadClock[]): string[] {
  return clocks
    .filter((clock) => clock.bare)
    .map(
      (clock) => `no am or pm given: ${clock.hour} is read as ${clockText(clock)} (24-hour clock)`,
    )
}
