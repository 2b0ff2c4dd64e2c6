/** A Citus cluster that somebody has started for the tests: `WAKEFUL_TEST_CITUS_URL` is its coordinator, with two workers or more. */
import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import pg from 'pg'
import { until } from './until.ts'

/** As an operator says it for the database: our schemas are spread, and what is set for a transaction is set on its nodes, too. */
const OPTIONS = '-c citus.enable_schema_based_sharding=on -c citus.propagate_set_commands=local'

function citusUrl(): string {
  const given = process.env.WAKEFUL_TEST_CITUS_URL
  if (given === undefined) throw new Error('WAKEFUL_TEST_CITUS_URL names no coordinator')
  const url = new URL(given)
  url.search = `options=${encodeURIComponent(OPTIONS)}`
  return url.href
}

export async function onCitus<R extends object>(sql: string, node?: CitusNode): Promise<R[]> {
  const url = new URL(citusUrl())
  if (node !== undefined) url.host = `${node.host}:${node.port}`
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    return (await client.query<R & pg.QueryResultRow>(sql)).rows
  } finally {
    await client.end()
  }
}

export interface CitusNode {
  readonly host: string
  readonly port: number
}

/** `kill -9` of a node, which is on this machine. Answers with how to start it again, as it was started. */
export async function killNode(node: CitusNode): Promise<() => Promise<void>> {
  const [place] = await onCitus<{ data_directory: string }>('show data_directory', node)
  const directory = String(place?.data_directory)
  const [pid] = readFileSync(`${directory}/postmaster.pid`, 'utf8').split('\n')
  const words = readFileSync(`${directory}/postmaster.opts`, 'utf8').trim().split(/\s+/)
  const [server = '', ...args] = words.map((word) => word.replace(/^"(.*)"$/, '$1'))
  process.kill(Number(pid), 'SIGKILL')
  const { uid, gid } = statSync(directory)
  const start = { uid, gid, cwd: directory, detached: true, stdio: 'ignore' } as const
  return async () => {
    // Not at once: what is left of it must have ended first.
    await until('the node answers', async () => {
      const child = spawn(server, args, start)
      const ended = new Promise<'ended'>((done) => child.once('close', () => done('ended')))
      const answers = until('an answer', () => onCitus('select 1', node).catch(() => null))
      const first = await Promise.race([ended, answers])
      child.unref()
      return first !== 'ended'
    })
  }
}

/** Without any schema of ours. Answers with its address. */
export async function emptyCitus(): Promise<string> {
  const schemas = await onCitus<{ name: string }>(
    `select nspname::text as name from pg_namespace where nspname ~ '^wakeful(_[0-9]+)?$' order by 1`,
  )
  for (const { name } of schemas) await onCitus(`drop schema ${name} cascade`)
  return citusUrl()
}
