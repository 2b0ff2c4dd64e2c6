/**
 * `npm run faults`: every row of the table, one after the other, against real processes and a real PostgreSQL.
 *
 *   -- --only 7,11     some of them
 *   -- --short         those that `npm test` has
 *   -- --full          as many clients, timers and rounds as the list asks for; half an hour and more
 *   -- --kills 1000 --restarts 200   how often rows 4 and 8 do it
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { endFile, endTest } from '../setup/ends.ts'
import { quickFolder } from '../setup/memory.ts'
import { makeTemplate, SETTINGS } from '../setup/postgres.ts'
import { startPostgres } from '../setup/server.ts'
import { groundOn } from './ground.ts'
import { Stopwatch } from './measure.ts'
import type { HeldRow, Row } from './row.ts'
import { table } from './table.ts'

process.env.TMPDIR = quickFolder()

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    short: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    kills: { type: 'string' },
    restarts: { type: 'string' },
  },
})
const { full } = values
const amounts = {
  full,
  kills: Number(values.kills ?? (full ? 200 : 12)),
  restarts: Number(values.restarts ?? (full ? 60 : 5)),
}
const only = values.only?.split(',').map(Number)
const some = [
  ...(values.kills === undefined ? [] : [4]),
  ...(values.restarts === undefined ? [] : [8]),
]
const wanted = only ?? (some.length > 0 && !full ? some : null)
const rows = table(amounts)
  .filter(({ id }) => wanted === null || wanted.includes(id))
  .filter((row) => !values.short || ('short' in row && row.short))
  .sort((a, b) => a.id - b.id)

/** A test of the suite, by its name. */
async function runTest(file: string, name: string): Promise<void> {
  const child = spawn('npx', ['vitest', 'run', file, '-t', name], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(said.slice(-2000))
  if (!/\d+ passed/.test(said)) throw new Error(`${file} has no test "${name}"`)
}

async function tryRow(row: Row | HeldRow, base: string): Promise<void> {
  const say = (figure: string) => console.log(`        ${figure}`)
  if ('run' in row) await row.run(groundOn(base, say))
  else
    for (const [file, name] of row.heldBy) {
      say(`${file}: ${name}`)
      await runTest(file, name)
    }
}

const whole = new Stopwatch()
const server = await startPostgres(SETTINGS)
await makeTemplate(server.base)
const failed: number[] = []
for (const row of rows) {
  const watch = new Stopwatch()
  console.log(`${String(row.id).padStart(2)} ${row.fault} (${row.inject}) → ${row.holds}`)
  try {
    await tryRow(row, server.base)
    console.log(`        holds  [${watch.text}]`)
  } catch (error) {
    failed.push(row.id)
    console.log(`   FAIL ${error instanceof Error ? error.stack : String(error)}  [${watch.text}]`)
  } finally {
    await endTest()
  }
}
await endFile()
await server.stop()
console.log(
  `${rows.length - failed.length} hold, ${failed.length} fail${failed.length > 0 ? ` (${failed})` : ''}, in ${whole.text}`,
)
process.exit(failed.length > 0 ? 1 : 0)
