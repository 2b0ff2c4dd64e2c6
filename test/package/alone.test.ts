/** The packages that can be published alone: built, packed and imported by somebody who has nothing else of ours. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from '../../src/root.ts'
import { ensureBuilt } from '../process/server.ts'

/** Packs it into an empty folder, and prints what `code` makes of it there. */
function packed(name: string, code: string): { printed: string; files: string[] } {
  ensureBuilt()
  const folder = mkdtempSync(join(tmpdir(), 'alone-'))
  const run = (command: string, args: readonly string[], cwd = ROOT) =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  run('npm', ['run', 'build', '--silent', '-w', `packages/${name}`])
  run('npm', ['pack', '--silent', '-w', `packages/${name}`, '--pack-destination', folder])
  const [tarball = ''] = readdirSync(folder)
  run('tar', ['-xzf', tarball], folder)
  const script = `import * as it from './package/dist/index.js'\nconsole.log(${code})`
  const printed = run('node', ['--input-type=module', '-e', script], folder).trim()
  const files = readdirSync(join(folder, 'package'), { recursive: true, encoding: 'utf8' })
  return { printed, files }
}

it('schedule reads a phrase', () => {
  const { printed, files } = packed(
    'schedule',
    `it.describe(it.parsePhrase('every weekday at 8:30', { timezone: 'Europe/Berlin', now: 0 }).schedule)`,
  )
  expect(printed).toBe('every weekday at 08:30 (Europe/Berlin)')
  expect(files).toContain(join('dist', 'index.d.ts'))
})

it('exact-json keeps every digit', () => {
  const { printed } = packed(
    'exact-json',
    `it.writeJson(it.readJson('{"payload": {"n": 12345678901234567890}}', new Set(['payload'])))`,
  )
  expect(printed).toBe('{"payload":{"n": 12345678901234567890}}')
})

it('client has its functions and all declarations that they name', () => {
  const { printed, files } = packed('client', 'Object.keys(it).join()')
  expect(printed.split(',')).toContain('createClient')
  expect(files).toContain(join('dist', 'types', 'packages', 'client', 'src', 'index.d.ts'))
})
