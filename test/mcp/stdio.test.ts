/** `wakeful mcp` as a process of its own, spoken to by a real client over its standard input and output. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { ensureBuilt, folder, Server, SHORT_LIVED } from '../process/server.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { connect } from './stage.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))
const ALARM = { schedule: 'tomorrow at 9am', timezone: 'Europe/Berlin', wake_message: 'Up' }

/** Only what is named: no variable of the test run's own reaches the process. */
function environment(env: Record<string, string>): Record<string, string> {
  return { PATH: process.env.PATH ?? '', LOG_LEVEL: 'info', ...env }
}

function client(env: Record<string, string>) {
  ensureBuilt()
  return connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...SHORT_LIVED, BIN, 'mcp'],
      env: environment(env),
      stderr: 'ignore',
    }),
  )
}

/** Runs the command with lines on its standard input until it ends by itself. */
async function run(env: Record<string, string>, input: readonly string[], answers = 0) {
  ensureBuilt()
  const child = spawn(process.execPath, [...SHORT_LIVED, BIN, 'mcp'], { env: environment(env) })
  let stdout = ''
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const enough = new Promise<void>((done) => {
    child.stdout.on('data', (text) => {
      stdout += text
      if (stdout.split('\n').length > answers) done()
    })
  })
  const ended = once(child, 'close')
  for (const line of input) child.stdin.write(`${line}\n`)
  if (answers > 0) await Promise.race([enough, ended])
  if (answers > 0) child.stdin.end()
  const [code] = (await ended) as [number | null]
  return { code, stdout, stderr, lines: stdout.split('\n').filter((line) => line !== '') }
}

const databaseOf = async (store: StoreUnderTest) =>
  store.name === 'pglite' ? `pglite:${join(folder(), 'data')}` : await store.database()

eachStore('wakeful mcp', (store) => {
  it('opens the store itself: sets, lists, refuses, and finds all again after a restart', async () => {
    const env = { DATABASE_URL: await databaseOf(store), WAKEFUL_ACT_AS: 'ann' }
    const first = await client(env)
    const { tools } = await first.client.listTools()
    expect(tools.map((tool) => tool.name)).toContain('schedule')
    const set = await first.call('set_alarm', ALARM)
    expect(set.said).toMatch(/^Alarm set for (today|tomorrow) 09:00 Europe\/Berlin, in \d+/)
    expect((await first.call('set_alarm', {})).problem?.errors).toContain(
      'wake_message: is required',
    )
    await expect(first.call('nothing')).rejects.toThrow(/there is no tool/)
    await first.client.close()
    const second = await client(env)
    const listed = await second.call('list_alarms')
    expect(listed.data).toMatchObject({ data: [{ id: set.data.id, wake_message: 'Up' }] })
    expect((await second.call('cancel_alarm', { id: set.data.id })).data.status).toBe('cancelled')
  })

  it('works beside a running server, as its client', async () => {
    const database = await databaseOf(store)
    const key = 'k'.repeat(40)
    const keys = { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: key }
    const server = await Server.start({ DATABASE_URL: database, ...keys })
    const remote = { WAKEFUL_URL: server.url, WAKEFUL_ACT_AS: 'ann' }
    const { call } = await client({ ...remote, WAKEFUL_KEY: key })
    const set = await call('set_alarm', { ...ALARM, idempotency_key: 'once' })
    expect(set.isError).toBe(false)
    expect((await call('set_alarm', { ...ALARM, idempotency_key: 'once' })).data).toMatchObject({
      id: set.data.id,
      deduped: true,
    })
    const seen = await fetch(`${server.url}/v1/alarms/${String(set.data.id)}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    expect(await seen.json()).toEqual((await call('get_alarm', { id: set.data.id })).data)
    const wrong = await call('set_alarm', { kind: 'cron', colour: 'red' })
    expect(wrong.problem).toMatchObject({ status: 422 })
    expect(wrong.problem?.errors).toEqual(
      expect.arrayContaining(['wake_message: is required', 'colour: is not a known field']),
    )
    expect((await call('get_alarm', {})).problem?.errors).toEqual(['id: is required'])
    for (const id of ['..', '.', '../alarms', '0195f5a0-0000-7000-8000-000000000001'])
      expect((await call('get_alarm', { id })).problem, id).toMatchObject({ status: 404 })
    const other = await client({ ...remote, WAKEFUL_KEY: 'wrong' })
    expect((await other.call('list_alarms')).problem).toMatchObject({ status: 401 })
    await server.end('SIGTERM')
    const away = await call('list_alarms')
    expect(away.problem).toMatchObject({ status: 503 })
    expect(away.said).toContain('is it running there?')
  })
})

describe('the command', () => {
  it('says what to set when a server holds the embedded store', async () => {
    const env = { DATABASE_URL: `pglite:${join(folder(), 'data')}` }
    const server = await Server.start(env)
    const { code, stdout, stderr } = await run(env, [])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('WAKEFUL_URL')
    await server.end('SIGTERM')
  })

  it('writes nothing but the protocol to standard output, and outlives bad lines', async () => {
    const call = (id: number, payload: string) =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"set_alarm","arguments":{"schedule":"in 20 minutes","wake_message":"x","payload":${payload}}}}`
    const lines = [
      'rubbish',
      '{"params":{"a":{"x":1,"x":2},"b":oops}}',
      '',
      '[]',
      `{"x":"${'x'.repeat(300_000)}"}`,
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}',
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      call(2, '{"n":12345678901234567890,"e":1E2}'),
      call(3, '{"a":1,"a":2}'),
    ]
    const { code, stderr, lines: out } = await run({ DATABASE_URL: 'memory:' }, lines, 7)
    const answers = out.map((line) => JSON.parse(line) as Record<string, unknown>)
    const codes = answers.flatMap(
      ({ error }) => (error as { code?: number } | undefined)?.code ?? [],
    )
    expect(codes).toEqual([-32_700, -32_700, -32_600, -32_600])
    expect(answers.map(({ id }) => id)).toEqual(expect.arrayContaining([1, 2, 3]))
    const set = out.find((line) => line.includes('"id":2')) ?? ''
    expect(set).toContain('{\\"n\\":12345678901234567890,\\"e\\":1E2}')
    expect(out.find((line) => line.includes('"id":3'))).toContain('is there twice')
    expect(code).toBe(0)
    expect(stderr).not.toMatch(/unhandled|Error:/)
  })

  it('names a wrong setting without repeating secrets', async () => {
    const { code, stderr, stdout } = await run(
      { WAKEFUL_URL: 'ftp://secret@x', WAKEFUL_ACT_AS: 'a b' },
      [],
    )
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('WAKEFUL_URL: got another value')
    expect(stderr).toContain('WAKEFUL_ACT_AS')
    expect(stderr).not.toContain('secret')
  })
})
