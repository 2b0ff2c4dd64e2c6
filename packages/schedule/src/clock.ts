/**
 * Times of day in phrases: `9am`, `9:30 pm`, `at 7`, `at nine`, `noon`, `half past 8`, `9 in the evening`, `9am and 5pm`; and
 * the parts of the day, which stand for an hour where none is given and say which half is meant where one is.
 */

import { clockText, HOUR, MINUTE } from './calendar.ts'
import { ScheduleError } from './schedule.ts'
import { type Cursor, countOf, type ReadClock, type Token } from './tokens.ts'

const NAMED: Record<string, number> = { noon: 12, midday: 12, midnight: 0 }

export type DayPart = 'morning' | 'afternoon' | 'evening' | 'night'

/** The hour a part of the day stands for, and the hours that belong to it. */
const PARTS: Record<DayPart, { hour: number; holds: (hour: number) => boolean }> = {
  morning: { hour: 9, holds: (hour) => hour >= 1 && hour < 12 },
  afternoon: { hour: 15, holds: (hour) => hour >= 12 && hour <= 18 },
  evening: { hour: 18, holds: (hour) => hour >= 17 },
  night: { hour: 21, holds: (hour) => hour >= 17 || hour < 5 },
}

export function partOf(word: string): { part: DayPart; plural: boolean } | null {
  const single = word.endsWith('s') ? word.slice(0, -1) : word
  if (!Object.hasOwn(PARTS, single)) return null
  return { part: single as DayPart, plural: single !== word }
}

/** `in the morning`, `at night`, or the bare word. */
export function readPart(cursor: Cursor): { part: DayPart; plural: boolean; bare: boolean } | null {
  return cursor.attempt(() => {
    const led = cursor.take('in', 'the') || (cursor.peekWord(1) === 'night' && cursor.take('at'))
    const found = partOf(cursor.peekWord())
    if (found === null) return null
    cursor.at += 1
    return { ...found, bare: !led }
  })
}

/** The hour a part stands for, and the note that says so. */
export function hourOfPart(part: DayPart): { clock: ReadClock; note: string } {
  const clock = { hour: PARTS[part].hour, minute: 0, bare: false, half: true }
  return { clock, note: `no hour given: ${clockText(clock)} stands for the ${part}` }
}

/** A time within a part of the day: `8` in the evening is 20:00. Throws where the two do not go together. */
export function withinPart(clock: ReadClock, part: DayPart): ReadClock {
  const { holds } = PARTS[part]
  const either = !clock.half && clock.hour >= 1 && clock.hour <= 12
  const hours = either ? [clock.hour % 12, (clock.hour % 12) + 12] : [clock.hour]
  const [hour, ...more] = hours.filter(holds)
  if (hour === undefined || more.length > 0) {
    throw new ScheduleError(
      `${clockText(clock)} does not go with the ${part}: write the time alone, for example "at 20:00" or "at 8pm"`,
    )
  }
  return { ...clock, hour, bare: false, half: true }
}

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

/** `half past 8`, `a quarter to 9pm`, `quarter past noon`. */
function readSpoken(cursor: Cursor): ReadClock | null {
  return cursor.attempt(() => {
    let minutes = 0
    if (cursor.take('half', 'past')) minutes = 30
    else {
      cursor.take('a')
      if (!cursor.take('quarter')) return null
      const side = cursor.takeOne('past', 'to')
      if (side === null) return null
      minutes = side === 'past' ? 15 : -15
    }
    const from = readClock(cursor, true)
    if (from === null || from.minute !== 0) return null
    if (minutes < 0 && !from.half && from.hour <= 1)
      throw new ScheduleError('say am or pm: write "quarter to 1pm" or "12:45"')
    const ofDay = (from.hour * HOUR + minutes * MINUTE + 24 * HOUR) % (24 * HOUR)
    const hour = Math.floor(ofDay / HOUR)
    return { ...from, hour, minute: (ofDay - hour * HOUR) / MINUTE }
  })
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
  const hour = countOf(token)
  if (hour === null || (token.kind === 'number' && token.text.length > 2)) return readSpoken(cursor)
  return cursor.attempt(() => {
    cursor.at += 1
    const said = cursor.takeOne("o'clock", 'oclock') !== null
    const half = readHalf(cursor)
    const oclock = said || cursor.takeOne("o'clock", 'oclock') !== null
    if (half === null && !bare && !oclock) return null
    return { ...toClock(hour, 0, half, token.text), bare: half === null }
  })
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
      (clock) =>
        `no am or pm given: ${clock.minute === 0 ? clock.hour : 'it'} is read as ${clockText(clock)} (24-hour clock)`,
    )
}
