/** Prints microseconds per `next()` for typical and rare expressions. Run: node --import tsx bench/schedule.ts */

import { next, parseCron, parseFrequency } from '../packages/schedule/src/index.ts'

const START = Date.UTC(2026, 0, 1)
const ROUNDS = 20_000

const CASES = [
  ['*/5 * * * *', 'UTC'],
  ['0 9 * * *', 'UTC'],
  ['0 9 * * *', 'Europe/Berlin'],
  ['30 8 * * 1-5', 'America/New_York'],
  ['*/15 * * * *', 'Europe/Berlin'],
  ['0 9 1 * *', 'Australia/Sydney'],
  ['0 9 L * *', 'Asia/Kathmandu'],
  ['0 0 29 2 *', 'Europe/Berlin'],
  ['0 0 * 2 5#5', 'UTC'],
  ['@every 1h30m', 'UTC'],
] as const

for (const [expr, zone] of CASES) {
  const { schedule } = parseCron(expr, zone)
  const start = performance.now()
  // Instants spread over a year: the first visit to each day asks Intl, later ones do not.
  for (let i = 0; i < ROUNDS; i += 1) next(schedule, START + ((i * 7_919) % 525_600) * 60_000)
  const micros = ((performance.now() - start) * 1_000) / ROUNDS
  console.log(`${expr.padEnd(14)} ${zone.padEnd(18)} ${micros.toFixed(2)} µs per next()`)
}

const start = performance.now()
for (let i = 0; i < ROUNDS; i += 1) parseFrequency('every weekday at 8:30', 'Europe/Berlin')
const micros = ((performance.now() - start) * 1_000) / ROUNDS
console.log(`parse "every weekday at 8:30": ${micros.toFixed(2)} µs`)
