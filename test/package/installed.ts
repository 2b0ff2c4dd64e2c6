/** The package as npm would install it: packed, unpacked in an empty folder, with what it depends on beside it, and nothing else. */
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ensureBuilt, folder } from '../process/server.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const run = promisify(execFile)

interface Manifest {
  readonly dependencies?: Record<string, string>
  readonly exports: Record<string, { readonly types: string; readonly default: string }>
}

export const manifest = (path: string) =>
  JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest

export interface Installed {
  readonly home: string
  /** Of the package in it. */
  readonly own: string
  readonly bin: string
}

export async function install(): Promise<Installed> {
  ensureBuilt()
  const home = folder()
  const own = join(home, 'node_modules/wakeful')
  mkdirSync(own, { recursive: true })
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', home], { cwd: ROOT })
  const [packed] = JSON.parse(stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(home, packed.filename), '--strip-components=1', '-C', own])
  for (const name of Object.keys(manifest(own).dependencies ?? {})) {
    const link = join(home, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
  return { home, own, bin: join(own, 'dist/cli/bin.js') }
}
