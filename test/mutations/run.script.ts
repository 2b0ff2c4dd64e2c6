/** `npm run mutations [-- --only 3,7]`: breaks one promise after the other in a copy of the tree, and sees which test notices. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../../src/root.ts'
import { quickFolder } from '../setup/memory.ts'

/** A promise broken on purpose, with the tests that must notice. */
interface Mutation {
  readonly name: string
  /** A number of ARCHITECTURE.md or docs/rules.md. */
  readonly breaks: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly find: string
  readonly put: string
  readonly tests: readonly string[]
}

const LIST = new URL('list.json', import.meta.url)
const MUTATIONS = JSON.parse(readFileSync(LIST, 'utf8')) as readonly Mutation[]

const { values } = parseArgs({ options: { only: { type: 'string' } } })
const chosen =
  values.only === undefined
    ? MUTATIONS
    : values.only.split(',').flatMap((number) => MUTATIONS[Number(number) - 1] ?? [])

/** The tree as it is, with what is built and installed. */
function copyOfTree(): string {
  const copy = mkdtempSync(join(quickFolder(), 'mutations-'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT })
  for (const file of files.toString().trim().split('\n')) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(ROOT, file), join(copy, file))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  cpSync(join(ROOT, 'dist'), join(copy, 'dist'), { recursive: true })
  return copy
}

interface Report {
  readonly numFailedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

/** The first test that fails, or null. */
function caughtBy(copy: string, tests: readonly string[]): string | null {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  spawnSync(
    'npx',
    // What is broken may also never end.
    [
      'vitest',
      'run',
      '--bail=1',
      '--testTimeout=60000',
      '--reporter=json',
      `--outputFile=${report}`,
      ...tests,
    ],
    {
      cwd: copy,
      stdio: 'ignore',
    },
  )
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
  for (const { name, assertionResults } of testResults)
    for (const { status, fullName } of assertionResults)
      if (status === 'failed') return `${name.slice(copy.length + 1)}: ${fullName.trim()}`
  return null
}

function broken(copy: string, { file, find, put, tests }: Mutation): string | null {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  if (text.split(find).length !== 2) throw new Error(`${file} does not hold once: ${find}`)
  writeFileSync(
    path,
    text.replace(find, () => put),
  )
  try {
    return caughtBy(copy, tests)
  } finally {
    writeFileSync(path, text)
  }
}

const copy = copyOfTree()
let unnoticed = 0
for (const mutation of chosen) {
  const catcher = broken(copy, mutation)
  if (catcher === null) unnoticed++
  const number = MUTATIONS.indexOf(mutation) + 1
  console.log(
    `${catcher === null ? 'UNNOTICED' : 'caught'} ${number} ${mutation.name} (${mutation.breaks})${catcher === null ? '' : `\n  by ${catcher}`}`,
  )
}
rmSync(copy, { recursive: true })
console.log(`${chosen.length - unnoticed} caught, ${unnoticed} unnoticed`)
process.exitCode = unnoticed > 0 ? 1 : 0
