/** The first commands of README.md work in a fresh clone. */
import { execFile, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { blocksOf } from '../docs/blocks.ts'
import { folder, post } from '../process/server.ts'
import { afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'
import { ROOT } from './installed.ts'

const run = promisify(execFile)
const ended: (() => void)[] = []
afterEachTest(() => {
  for (const end of ended.splice(0)) end()
})

/** A clone with the packages of this one, so that nothing is downloaded; everything else it does itself. */
async function clone(): Promise<string> {
  // Hard links need the same file system.
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const home = mkdtempSync(join(ROOT, '.cache/clone-'))
  ended.push(() => rmSync(home, { recursive: true, force: true }))
  // As git makes a folder: the PostgreSQL of the tests runs as another user where this one is root.
  chmodSync(home, 0o755)
  await run('git', ['clone', '--quiet', '--depth=1', `file://${ROOT}`, home])
  await run('cp', ['-al', join(ROOT, 'node_modules'), home])
  return home
}

it('contract: npm start and npm test work in a clone', async () => {
  const [first] = blocksOf('README.md').blocks.filter(({ kind }) => kind === 'sh')
  const commands = first?.text.split('\n').map((line) => line.replace(/\s*#.*/, ''))
  expect(commands).toEqual(['npm start', 'npm test'])
  const cwd = await clone()
  const env = { PATH: process.env.PATH ?? '', HOME: folder(), PORT: '0', NO_COLOR: '1' }
  const server = spawn('npm', ['start'], { cwd, env, detached: true })
  // With all that it started.
  ended.push(() => {
    if (server.exitCode === null && server.signalCode === null && server.pid)
      process.kill(-server.pid, 'SIGKILL')
  })
  let said = ''
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (text) => {
      said += text
    })
  const exited = new Promise((done) => server.once('exit', done))
  const address = () => /^listening on (\S+)$/m.exec(said)?.[1] ?? ''
  await until('it listens', () => address() !== '' || server.exitCode !== null)
  expect(said).toMatch(/^listening on /m)
  await until('it is ready', async () => (await fetch(`${address()}/readyz`)).ok)
  expect(await post(address(), 'me:companion:first', { text: 'hello' })).toMatchObject({ seq: 1 })
  server.kill('SIGTERM')
  await exited
  const { stdout } = await run('npm', ['test', '--', 'test/config.test.ts'], { cwd, env })
  expect(stdout).toMatch(/Tests\s+\d+ passed/)
})
