/** `npm run fuzz -- --requests 100000 --seed 1 --database postgres://…`: hostile input, schema-aware, against a real server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Stopwatch } from '../faults/measure.ts'
import { endFile, endTest } from '../setup/ends.ts'
import { quickFolder } from '../setup/memory.ts'
import { copyOfTemplate, makeTemplate, SETTINGS } from '../setup/postgres.ts'
import { startPostgres } from '../setup/server.ts'
import { siege } from './siege.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '20260101' },
    embedded: { type: 'boolean', default: false },
  },
})
process.env.TMPDIR = quickFolder()
const folder = mkdtempSync(join(quickFolder(), 'wakeful-fuzz-'))
const server = values.embedded ? null : await startPostgres(SETTINGS)
if (server !== null) await makeTemplate(server.base)
const watch = new Stopwatch()
/** Also where the siege itself fails: no process and no folder is left behind. */
async function end(): Promise<void> {
  await endTest()
  await endFile()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
const report = await siege({
  requests: Number(values.requests),
  seed: Number(values.seed),
  database: server === null ? 'memory:' : await copyOfTemplate(server.base),
  folder,
  say: (text) => console.log(`${text}, ${watch.text}`),
}).finally(end)

for (const each of report.found.slice(0, 40))
  console.log(`${each.what}: ${each.request.slice(0, 600)}\n    → ${each.answer}`)
for (const each of report.documents.thrown.slice(0, 10)) console.log(each)
const statuses = [...report.statuses]
  .sort(([a], [b]) => a - b)
  .map(([status, n]) => `${status}: ${n}`)
console.log(
  `${report.requests} requests in ${watch.text} (seed ${values.seed}): ${statuses.join(', ')}`,
)
console.log(
  `${report.documents.tried} feeds and calendars, the slowest read in ${report.documents.slowestMs} ms, ${report.documents.thrown.length} threw`,
)
const busy = report.heldUp.filter(({ busyMs }) => busyMs > 100)
console.log(
  `event loop held up for more than 100 ms: ${busy.length} times${report.heldUp.map(({ ms, busyMs }) => `; ${ms} ms, of which it worked ${busyMs}`).join('')}`,
)
console.log(`${report.found.length} found`)
process.exit(report.found.length + report.documents.thrown.length + busy.length > 0 ? 1 : 0)
