/** The proleptic Gregorian calendar as arithmetic on day numbers (0 is 1970-01-01); no `Date`, no zone. */

export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000

export const MAX_YEAR = 9999
/** 9999-12-31T23:59:59.999Z: nothing is scheduled beyond it. */
export const LAST_INSTANT = 253_402_300_799_999

interface Civil {
  year: number
  month: number
  day: number
}

export interface Clock {
  hour: number
  minute: number
}

/** Days are counted in 400-year eras that start on 1 March, so that the leap day comes last. */
export function dayNumber(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

export function civil(dayNo: number): Civil {
  const z = dayNo + 719_468
  const era = Math.floor(z / 146_097)
  const dayOfEra = z - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shifted = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shifted < 10 ? shifted + 3 : shifted - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1,
  }
}

/** 0 is Sunday; 1970-01-01 was a Thursday. */
export function weekday(dayNo: number): number {
  return (((dayNo + 4) % 7) + 7) % 7
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** The most days the month can have in any year. */
export function longestMonth(month: number): number {
  return daysInMonth(2000, month)
}

export function twoDigits(n: number): string {
  return String(n).padStart(2, '0')
}

export function clockText(clock: Clock): string {
  return `${twoDigits(clock.hour)}:${twoDigits(clock.minute)}`
}

export function dateText(dayNo: number): string {
  const { year, month, day } = civil(dayNo)
  return `${String(year).padStart(4, '0')}-${twoDigits(month)}-${twoDigits(day)}`
}
