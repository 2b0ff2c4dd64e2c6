// Runs the whole suite: unit and behaviour tests on both stores. Arguments go to vitest.
import { spawnSync } from 'node:child_process'

const { status } = spawnSync('npx', ['vitest', 'run', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
process.exit(status ?? 1)
