// All checks in one command: format, lint, types, unused code, duplication, tidy. Each says what to do.
import { spawnSync } from 'node:child_process'

const checks = [
  ['format and lint', 'npx', ['biome', 'check', '.'], 'npm run format mends most of it'],
  ['types', 'npx', ['tsc', '-p', 'tsconfig.json'], 'mend the types'],
  [
    'unused code',
    'npx',
    ['knip', '--no-progress'],
    'delete what nobody uses, or export it where it is used',
  ],
  ['duplication', 'npx', ['jscpd', '--silent', 'src'], 'let one piece of code serve both places'],
  [
    'tidy',
    'npx',
    ['vitest', 'run', '--config', 'vitest.tidy.config.ts'],
    'the message says what to write instead',
  ],
]
let failed = 0
for (const [name, command, args, advice] of checks) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name}`)
  if (status === 0) continue
  failed++
  console.log(`${stdout}${stderr}\n→ ${advice}\n`)
}
console.log(`${checks.length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
