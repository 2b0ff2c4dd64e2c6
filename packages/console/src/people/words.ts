/** Days in words. Pure. */
import { WEEKDAYS, type Weekday } from './shapes.ts'

export const nameOf = (day: Weekday) => day.charAt(0).toUpperCase() + day.slice(1)

export function daysWords(days: readonly Weekday[] | undefined): string {
  if (days === undefined || days.length === WEEKDAYS.length) return 'every day'
  return `on ${WEEKDAYS.filter((day) => days.includes(day))
    .map(nameOf)
    .join(', ')}`
}
