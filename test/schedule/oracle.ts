/**
 * A slow second opinion: walks instant by instant, minute by minute, asks `Intl` for the wall clock of each, and
 * applies the daylight-saving rule as it is worded. Shares no code with what it judges.
 */

const MINUTE = 60_000
const DAY = 86_400_000

export interface OracleCron {
  minutes: number[]
  hours: number[]
  months: number[]
  /** Null where the field is a bare star. */
  days: number[] | null
  weekdays: number[] | null
  /** A star stands in minute or hour. */
  wild: boolean
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Wall clock as if it were UTC. */
export function wallClock(zone: string, at: number): number {
  let format = formats.get(zone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    formats.set(zone, format)
  }
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
    format.format(at).match(/\d+/g) ?? []
  ).map(Number)
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

export function matches(cron: OracleCron, wall: number): boolean {
  const date = new Date(wall)
  if (!cron.minutes.includes(date.getUTCMinutes())) return false
  if (!cron.hours.includes(date.getUTCHours())) return false
  if (!cron.months.includes(date.getUTCMonth() + 1)) return false
  const byDay = cron.days === null || cron.days.includes(date.getUTCDate())
  const byWeekday = cron.weekdays === null || cron.weekdays.includes(date.getUTCDay())
  return cron.days !== null && cron.weekdays !== null ? byDay || byWeekday : byDay && byWeekday
}

const walls = new Map<string, number[]>()

/** The wall clock of every minute of [from, to], kept because `Intl` is slow. */
function wallsOf(zone: string, from: number, to: number): number[] {
  const key = `${zone} ${from} ${to}`
  let list = walls.get(key)
  if (list === undefined) {
    list = []
    for (let at = from; at <= to; at += MINUTE) list.push(wallClock(zone, at))
    walls.set(key, list)
  }
  return list
}

/** Every fire in [from, to]; both must be whole minutes, and no clock change may lie in the first day. */
export function fires(cron: OracleCron, zone: string, from: number, to: number): number[] {
  const found: number[] = []
  const seen = new Set<number>()
  let before: number | null = null
  wallsOf(zone, from, to).forEach((wall, i) => {
    const at = from + i * MINUTE
    const skipped = before === null ? 0 : wall - before - MINUTE
    let due = matches(cron, wall) && (cron.wild || !seen.has(wall))
    if (!cron.wild && before !== null && skipped > 0 && skipped < DAY) {
      for (let lost = before + MINUTE; lost < wall; lost += MINUTE) {
        due ||= matches(cron, lost) && !seen.has(lost)
        seen.add(lost)
      }
    }
    seen.add(wall)
    before = wall
    if (due) found.push(at)
  })
  return found
}

/** The hour-aligned instants around which the zone's clocks change between two years. */
export function changes(zone: string, fromYear: number, toYear: number): number[] {
  const found: number[] = []
  const offset = (at: number) => wallClock(zone, at) - at
  for (let at = Date.UTC(fromYear, 0, 1); at < Date.UTC(toYear + 1, 0, 1); at += DAY) {
    if (offset(at) !== offset(at + DAY)) found.push(at)
  }
  return found
}
