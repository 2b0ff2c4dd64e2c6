/** The one place that reads the machine's time of day; only for what happens without a database. */
export function wallClock(): number {
  return Date.now()
}
