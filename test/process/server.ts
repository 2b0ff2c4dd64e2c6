/** The real server as a process of its own, from the build, with its own environment and its own death. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEachFile, afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
export const BIN = join(ROOT, 'dist/cli/bin.js')
const START_MAX_MS = 120_000
/**
 * For processes that live for seconds: the embedded database is compiled quickly and not once more thoroughly, which
 * takes half of the CPU time of a start.
 */
export const SHORT_LIVED = ['--liftoff-only']

const running = new Set<Server>()
const folders: string[] = []
afterEachTest(async () => {
  await Promise.all([...running].map((server) => server.end('SIGKILL')))
})
afterEachFile(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** The test run builds beforehand; by itself a single file may find nothing. */
export function ensureBuilt(): void {
  if (!existsSync(BIN)) spawnSync('node', ['scripts/prepare.mjs', 'build'], { cwd: ROOT })
}

/** A folder of the test's own, removed when its file ends. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'wakeful-test-'))
  folders.push(made)
  return made
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Unless said, the build of this repository, in its folder. */
export interface Place {
  readonly bin?: string
  readonly folder?: string
  readonly args?: readonly string[]
  /** As this user and group; takes root. */
  readonly as?: number
}

export class Server {
  readonly #child: ChildProcess
  readonly exited: Promise<Exit>
  readonly address: Promise<string>
  stdout = ''
  stderr = ''

  /** Starts `wakeful serve` on a free port of loopback. */
  constructor(env: Record<string, string>, place: Place = {}) {
    ensureBuilt()
    const { PATH = '' } = process.env
    const { bin = BIN, folder = ROOT, args = [], as } = place
    this.#child = spawn(process.execPath, [...SHORT_LIVED, bin, 'serve', ...args], {
      cwd: folder,
      ...(as === undefined ? {} : { uid: as, gid: as }),
      env: { PATH, PORT: '0', LOG_LEVEL: 'info', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(this)
    this.#child.stderr?.on('data', (text) => {
      this.stderr += text
    })
    this.exited = new Promise((done) => {
      this.#child.once('close', (code, signal) => {
        running.delete(this)
        done({ code, signal })
      })
    })
    this.address = this.#listening()
    this.address.catch(() => undefined)
  }

  /** A server that takes requests. */
  static async start(
    env: Record<string, string>,
    place: Place = {},
  ): Promise<Server & { url: string }> {
    const server = new Server(env, place)
    const url = await server.address
    await server.ready(url)
    return Object.assign(server, { url })
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the server has no pid')
    return this.#child.pid
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<Exit> {
    this.signal(signal)
    return this.exited
  }

  /** Waits until the database is there too. */
  async ready(url: string): Promise<void> {
    await until('the server is ready', async () => {
      const answer = await fetch(`${url}/readyz`).catch(() => null)
      await answer?.arrayBuffer()
      return answer?.ok
    })
  }

  #listening(): Promise<string> {
    return new Promise((done, fail) => {
      const timer = setTimeout(() => fail(new Error(`no address: ${this.stderr}`)), START_MAX_MS)
      this.#child.stdout?.on('data', (text) => {
        this.stdout += text
        const found = /^listening on (\S+)$/m.exec(this.stdout)?.[1]
        if (found === undefined) return
        clearTimeout(timer)
        done(found)
      })
      this.#child.once('close', (code) => {
        clearTimeout(timer)
        fail(new Error(`ended with ${code} before it listened: ${this.stderr}`))
      })
    })
  }
}

/** Posts a message; answers with the status, or null when no answer came. */
export async function post(
  url: string,
  key: string,
  body: { text: string; id?: string },
): Promise<{ status: number; seq: number } | null> {
  try {
    const answer = await fetch(`${url}/v1/sessions/${key}/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const json = (await answer.json()) as { event?: { seq: number } }
    return { status: answer.status, seq: json.event?.seq ?? 0 }
  } catch {
    return null
  }
}
