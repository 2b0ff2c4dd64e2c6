// Checks in one command, two at a time; each says what to do. `node scripts/check.mjs` is all that needs no database;
// `node scripts/check.mjs quick` is for everyday work: less of that, but tests without a store and on the embedded one.
import { spawn } from 'node:child_process'

const FORMAT = ['format and lint', 'biome', ['check', '.'], 'npm run format mends most of it']
const TYPES = ['types', 'tsc', ['-p', 'tsconfig.json'], 'mend the types']
const REACT_TYPES = ['types of React', 'tsc', ['-p', 'packages/react'], 'mend the types']
const LOCK_ADVICE = 'node scripts/complete-lock.mjs [folder] adds what is missing'
const TIDY_ADVICE = 'the message says what to write instead'
const ALL = [
  TYPES,
  REACT_TYPES,
  FORMAT,
  [
    'unused code',
    'knip',
    ['--no-progress'],
    'delete what nobody uses, or export it where it is used',
  ],
  ['lock file', 'npm', ['ci', '--dry-run'], LOCK_ADVICE],
  ['lock file of bench/peers', 'npm', ['--prefix', 'bench/peers', 'ci', '--dry-run'], LOCK_ADVICE],
  [
    'duplication',
    'jscpd',
    ['--silent', 'src', 'packages'],
    'let one piece of code serve both places',
  ],
  [
    'size',
    'node',
    ['scripts/budget.mjs'],
    'delete as much elsewhere, or say in the commit why budget.json grows',
  ],
  ['tidy', 'vitest', ['run', '--config', 'vitest.tidy.config.ts'], TIDY_ADVICE],
]
const QUICK = [
  [
    'tests, tidy among them',
    'vitest',
    ['run', '--config', 'vitest.quick.config.ts', '--reporter=dot'],
    'npx vitest run <file> shows one of them; npm test runs all, on both stores',
  ],
  FORMAT,
  TYPES,
]
const AT_ONCE = 2

function run([name, command, args, advice]) {
  const began = performance.now()
  const own = command === 'npm' || command === 'node'
  const [program, ...words] = own ? [command, ...args] : ['npx', command, ...args]
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
    })
  return new Promise((done, fail) => {
    child.on('error', fail)
    child.on('close', (code) => {
      const seconds = ((performance.now() - began) / 1000).toFixed(1)
      console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`)
      if (code !== 0) console.log(`${said}\n→ ${advice}\n`)
      done(code === 0)
    })
  })
}

const waiting = process.argv[2] === 'quick' ? QUICK : ALL
const results = []
async function lane() {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift())
    results.push(await run(check))
}
await Promise.all(Array.from({ length: AT_ONCE }, lane))
const failed = results.filter((right) => !right).length
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
