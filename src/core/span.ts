/** Spans of time in words: the two largest units, rounded to the smaller. */

const UNITS = [
  ['days', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const
/** One day is a matter of the calendar: less than two are told in hours. */
const DAYS_FROM = 2 * 86_400

/** `45 s`, `1 min 30 s`, `20 min`, `36 h`, `3 days 4 h`; of what lies behind, too. */
export function spanText(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1000)
  const units = seconds < DAYS_FROM ? UNITS.slice(1) : UNITS
  const first = units.findIndex(([, length]) => seconds >= length)
  if (first < 0) return '0 s'
  const smallest = units[Math.min(first + 1, units.length - 1)]?.[1] ?? 1
  let rest = Math.round(seconds / smallest) * smallest
  const parts: string[] = []
  for (const [unit, length] of units) {
    const count = Math.floor(rest / length)
    rest -= count * length
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.join(' ')
}

/** `in 13 h 20 min`, `5 min ago`, `now`. */
export function fromNow(at: number, now: number): string {
  const ms = at - now
  if (Math.round(Math.abs(ms) / 1000) < 1) return 'now'
  return ms > 0 ? `in ${spanText(ms)}` : `${spanText(ms)} ago`
}
