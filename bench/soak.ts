/**
 * `npm run soak [-- --minutes=30]`: recurring alarms for half an hour, 500 a second on PostgreSQL and 50 on the embedded store, at once.
 * Memory, the size of what is rewritten, and lateness must be at the end what they were at the beginning; if not it exits with 1.
 * Writes `bench/results/soak.md` and a picture.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Arena, buildContestants } from './arena.ts'
import type { Sample } from './contestants/soaked.ts'
import { digits, spreadOf } from './figures.ts'
import { lines } from './plot.ts'
import { postgresServer } from './stage.ts'

const RESULTS = new URL('./results/', import.meta.url)
const minutes = Number(
  process.argv.find((arg) => arg.startsWith('--minutes='))?.split('=')[1] ?? '30',
)

interface Run {
  readonly name: string
  readonly rate: number
  readonly samples: Sample[]
}

interface Law {
  readonly of: (sample: Sample) => number
  readonly name: string
  readonly unit: string
  /** Last quarter beside the second, and what is small enough never to matter. */
  readonly most: number
  readonly slack: number
}

const LAWS: readonly Law[] = [
  { name: 'memory', unit: 'MB', of: ({ rssMb }) => rssMb, most: 1.15, slack: 30 },
  { name: 'state', unit: 'MB', of: ({ stateMb }) => stateMb, most: 1.15, slack: 2 },
  { name: 'lateness p99', unit: 'ms', of: ({ p99 }) => p99, most: 1.5, slack: 10 },
  { name: 'lateness p50', unit: 'ms', of: ({ p50 }) => p50, most: 1.5, slack: 3 },
]

/** One store, one process, for the whole time. */
async function live({ rate, samples, name }: Run, url: string): Promise<void> {
  const file = fileURLToPath(new URL('./built/soaked.js', import.meta.url))
  const child = spawn(process.execPath, [file, url, String(rate)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return
    const sample = JSON.parse(line) as Sample
    samples.push(sample)
    if (samples.length % 6 === 0)
      console.error(
        `  ${name} ${samples.length / 6} min: ${sample.fires.toFixed(0)}/s, p99 ${sample.p99.toFixed(1)} ms, ${sample.rssMb.toFixed(0)} MB, state ${sample.stateMb.toFixed(1)} MB`,
      )
  })
  const timer = setTimeout(() => child.stdin.write('stop\n'), minutes * 60_000)
  await new Promise<void>((done, fail) => {
    child.once('exit', (code) => {
      clearTimeout(timer)
      code === 0 ? done() : fail(new Error(`${name} ended with code ${code}`))
    })
  })
}

function verdicts(run: Run): { text: string; flat: boolean }[] {
  const quarter = Math.floor(run.samples.length / 4)
  return LAWS.map(({ name, unit, of, most, slack }) => {
    const at = (n: number) => spreadOf(run.samples.slice(n * quarter, (n + 1) * quarter).map(of))
    // The first quarter compiles, plans and fills caches.
    const before = at(1).median
    const after = at(3).median
    const flat = after <= before * most || after - before <= slack
    const text = `| ${run.name} | ${name} | ${digits(before)} ${unit} | ${digits(after)} ${unit} | ${flat ? 'flat' : '**grows**'} |`
    return { text, flat }
  })
}

const folder = mkdtempSync(join(tmpdir(), 'wakeful-soak-'))
await buildContestants()
const server = await postgresServer()
const runs: readonly Run[] = [
  { name: 'PostgreSQL', rate: 500, samples: [] },
  { name: 'embedded', rate: 50, samples: [] },
]
const [before = 0] = loadavg()
try {
  await new Arena(server.base).onDatabase((url) =>
    Promise.all(runs.map((run, n) => live(run, n === 0 ? url : `pglite:${folder}/store`))),
  )
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
const judged = runs.flatMap(verdicts)
const logs = runs.map(({ name, rate, samples }) => {
  const [first, last] = [samples.at(6), samples.at(-1)]
  const fires = samples.slice(6).reduce((sum, sample) => sum + sample.fires * 10, 0)
  const bytes = (((last?.logMb ?? 0) - (first?.logMb ?? 0)) * 2 ** 20) / fires
  const least = Math.min(...samples.slice(6).map((sample) => sample.fires))
  return `${name}: ${rate} fires a second asked for, ${digits(least)} in the slowest ten seconds; the log grows by ${digits(bytes)} bytes for each fire; longest block of the event loop ${digits(Math.max(...samples.slice(6).map((sample) => sample.blockedMs)))} ms.`
})
const text = [
  '# Soak',
  '',
  `${minutes} minutes of recurring alarms, both stores at once; load ${before.toFixed(1)} before it began. Medians of the second and of the last quarter.`,
  '',
  '| store | what | second quarter | last quarter | |',
  '|---|---|---|---|---|',
  ...judged.map(({ text }) => text),
  '',
  ...logs.map((line) => `${line}\n`),
  '![soak](soak.svg)',
  '',
].join('\n')
mkdirSync(RESULTS, { recursive: true })
writeFileSync(new URL('soak.md', RESULTS), text)
writeFileSync(
  new URL('soak.svg', RESULTS),
  lines(
    `Soak of ${minutes} minutes`,
    runs.flatMap(({ name, samples }) =>
      LAWS.map((law) => ({
        name: `${name}: ${law.name}, ${law.unit}`,
        values: samples.map(law.of),
      })),
    ),
    minutes,
  ),
)
console.log(`\n${text}`)
if (judged.some(({ flat }) => !flat)) process.exitCode = 1
