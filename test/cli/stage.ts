/** The real command line as a process of its own, against a real server in this one. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureBuilt, SHORT_LIVED } from '../process/server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const BIN = join(ROOT, 'dist/cli/bin.js')
const RUN_MAX_MS = 50_000

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

/** Not a terminal, and nothing of this process's environment but the path. */
export async function wakeful(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  ensureBuilt()
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [...SHORT_LIVED, BIN, ...args], {
    cwd: ROOT,
    env: { PATH, DATABASE_URL: 'memory:', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
  })
  child.stdin.on('error', () => child.stdin.destroy())
  child.stdin.end(options.input ?? '')
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MAX_MS)
  return new Promise((done) => {
    child.once('close', (code) => {
      clearTimeout(timer)
      done({ code, stdout, stderr })
    })
  })
}
