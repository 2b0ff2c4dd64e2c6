/** Somebody who does what a page says, from its first block to its last, in a folder of their own. */
import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import pg from 'pg'
import { type Block, ROOT } from './blocks.ts'

const SHIM = fileURLToPath(new URL('shim.mjs', import.meta.url))
const COMMANDS = ['npm', 'npx', 'node', 'wakeful', 'curl']
/** For what hangs. */
const BLOCK_MAX_MS = 110_000
const COPY = /^\\copy (\w+) from '([^']+)' (.*)$/
const KEPT_AS = /^\/\/ ([\w.-]+\.mjs)\n/

export interface ReaderOptions {
  /** A running server, for pages that start none. */
  readonly url: string
  /** A PostgreSQL database with the schema in it. */
  readonly database: string
  readonly env?: Readonly<Record<string, string>>
}

export class Reader {
  readonly folder = mkdtempSync(join(tmpdir(), 'wakeful-docs-'))
  readonly #state = mkdtempSync(join(tmpdir(), 'wakeful-docs-state-'))
  readonly #options: ReaderOptions
  /** What earlier blocks exported. */
  #exported = ''
  output = ''

  constructor(options: ReaderOptions) {
    this.#options = options
    writeFileSync(join(this.#state, 'address'), options.url)
    const bin = join(this.#state, 'bin')
    mkdirSync(bin)
    for (const name of COMMANDS) {
      const file = join(bin, name)
      writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${SHIM}" ${name} "$@"\n`)
      chmodSync(file, 0o755)
    }
    mkdirSync(join(this.folder, 'node_modules'))
    symlinkSync(ROOT, join(this.folder, 'node_modules/wakeful'))
  }

  /** Where the newest server listens. */
  get url(): string {
    return readFileSync(join(this.#state, 'address'), 'utf8')
  }

  async run({ kind, more, text }: Block): Promise<void> {
    if (kind === 'sh') return this.#shell(text)
    if (kind === 'js') return this.#script(text, more === 'sketch')
    if (kind === 'json') return this.#json(text)
    if (kind === 'sql') return this.#sql(text)
    if (kind === 'ini') return eachLine(text, /^(?:\[\w+\]|;.*|[\w.*]+ *=.*|)$/)
    if (kind === 'Dockerfile') return eachLine(text, /^(?:[A-Z]+ .+|#.*| .*|)$/)
    if (more === 'output') this.#compare(text)
  }

  async close(): Promise<void> {
    const pids = join(this.#state, 'pids')
    const started = existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n') : []
    for (const pid of started) end(Number(pid))
    for (const each of [this.folder, this.#state]) rmSync(each, { recursive: true, force: true })
  }

  get #env(): Record<string, string> {
    const { PATH = '' } = process.env
    return {
      PATH: `${join(this.#state, 'bin')}:${PATH}`,
      HOME: this.folder,
      DATABASE_URL: `pglite:${this.folder}/.wakeful/data`,
      DOCS_ROOT: ROOT,
      DOCS_STATE: this.#state,
      DOCS_CURL: '/usr/bin/curl',
      ...this.#options.env,
    }
  }

  /** Variables that a block exports are there for the next, as in one terminal. */
  async #shell(text: string): Promise<void> {
    const kept = join(this.#state, 'exported')
    const ours = text.replaceAll(/postgres:\/\/\S+:5432\/\w+/g, this.#options.database)
    const script = `set -euo pipefail\n${this.#exported}\n${ours}\nexport -p > '${kept}'`
    await this.#spawn('bash', ['-c', script])
    this.#exported = readFileSync(kept, 'utf8').replaceAll(
      /^declare -x (?:PATH|PWD|OLDPWD|SHLVL)\b.*$/gm,
      '',
    )
  }

  async #script(text: string, sketch: boolean): Promise<void> {
    const name = KEPT_AS.exec(text)?.[1]
    const file = join(this.folder, name ?? 'block.mjs')
    writeFileSync(file, text.replaceAll('http://127.0.0.1:8787', this.url))
    if (name === undefined) await this.#spawn('node', sketch ? ['--check', file] : [file])
  }

  async #json(text: string): Promise<void> {
    const { mcpServers } = JSON.parse(text) as { mcpServers?: Record<string, McpServer> }
    for (const server of Object.values(mcpServers ?? {})) {
      const client = new Client({ name: 'reader', version: '1' })
      await client.connect(this.#transport(server))
      const { tools } = await client.listTools()
      await client.close()
      if (!tools.some(({ name }) => name === 'schedule')) throw new Error('it offers no schedule')
    }
  }

  #transport(server: McpServer) {
    if ('url' in server)
      return new StreamableHTTPClientTransport(
        new URL(server.url.replace('http://127.0.0.1:8787', this.url)),
      )
    const { command, args } = server
    return new StdioClientTransport({
      command: join(this.#state, 'bin', command),
      args: [...args],
      env: { ...this.#env, WAKEFUL_URL: this.url },
    })
  }

  async #sql(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#options.database })
    await client.connect()
    try {
      const { rows } = await client.query<{ user: string }>('select current_user as user')
      // Roles belong to the whole server, and ours are there: for this transaction they are not.
      if (/\bcreate role\b/.test(text))
        await client.query(
          'begin; alter role wakeful_owner rename to was_owner; alter role wakeful_engine rename to was_engine',
        )
      for (const statement of statements(text.replaceAll(/"<[^>]*>"/g, `"${rows[0]?.user}"`))) {
        const [, copy = '', file = '', how = ''] = COPY.exec(statement) ?? []
        if (copy === '') await client.query(statement)
        else
          await copyIn(
            client,
            `copy ${copy} from stdin ${how}`,
            readFileSync(join(this.folder, file)),
          )
      }
    } finally {
      await client.end()
    }
  }

  #compare(text: string): void {
    const wanted = text.split('\n').map((line) => line.split('…').map(escaped).join('.*'))
    const missing = wanted.find((line) => !new RegExp(line).test(this.output))
    if (missing !== undefined) throw new Error(`no line like ${missing} in:\n${this.output}`)
  }

  #spawn(command: string, args: readonly string[]): Promise<void> {
    const child = spawn(command === 'node' ? process.execPath : command, args, {
      cwd: this.folder,
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    child.stdin.on('error', () => child.stdin.destroy())
    // Whatever asks is told this.
    child.stdin.end('hello\n')
    this.output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (said) => {
        this.output += said
      })
    return ended(child, () => this.output)
  }
}

type McpServer =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[] }

function ended(child: ChildProcess, output: () => string): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => end(child.pid ?? 0), BLOCK_MAX_MS)
    child.once('error', fail)
    child.once('exit', (code) => {
      clearTimeout(timer)
      if (code === 0) done()
      else fail(new Error(`ended with ${code}:\n${output()}`))
    })
  })
}

/** With all that it started. */
function end(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** As psql sends a file. */
function copyIn(client: pg.Client, text: string, bytes: Buffer): Promise<void> {
  return new Promise((done, fail) => {
    client.query({
      submit: (connection: pg.Connection) => connection.query(text),
      handleCopyInResponse(connection: Copying) {
        connection.sendCopyFromChunk(bytes)
        connection.endCopyFrom()
      },
      handleCommandComplete: () => undefined,
      handleReadyForQuery: () => done(),
      handleError: (error: Error) => fail(error),
    } as unknown as pg.Submittable)
  })
}

interface Copying {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** A command of psql's own ends with its line. */
function statements(text: string): string[] {
  return text
    .replaceAll(/^\\.*$/gm, '$&;')
    .split(/;\s*(?:\n|$)/)
    .map((each) => each.trim())
    .filter((each) => each !== '')
}

function eachLine(text: string, shape: RegExp): void {
  const wrong = text.split('\n').find((line) => !shape.test(line))
  if (wrong !== undefined) throw new Error(`cannot be read: ${wrong}`)
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
