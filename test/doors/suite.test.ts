/**
 * One suite, four doors: the same operations through the library, HTTP, MCP and the client, compared. A scenario is a
 * row: add one for each operation that must mean the same everywhere.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { createClient, WakefulError } from '../../packages/client/src/index.ts'
import { agent } from '../../src/agents/function.ts'
import { pathOf } from '../../src/api/callers/caller.ts'
import { splitArguments } from '../../src/api/callers/flat.ts'
import type { Operation } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { ERRORS, Refusal } from '../../src/core/errors.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { eachStore } from '../setup/stores.ts'
import { anyCall } from '../setup/worlds.ts'
import { type Args, SCENARIOS } from './scenarios.ts'

/** What every door must agree on. */
interface Told {
  readonly status: 'ok' | number
  readonly body: unknown
  readonly errors: readonly string[]
}
type Door = (name: string, args: Args) => Promise<Told>

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const operationOf = (name: string): Operation => {
  const op = operations.find((each) => each.name === name)
  if (op === undefined) throw new Error(`no operation ${name}`)
  return op
}

const told = (body: unknown): Told => ({ status: 'ok', body: body ?? null, errors: [] })
/** HTTP names the part of a request, and so does its client; the others only the argument. */
const flat = (errors: readonly string[]) =>
  errors.map((error) => error.replace(/^(?:body|query|path)(?:\.|: )/, ''))
const refused = (status: number, errors: readonly string[]): Told => ({
  status,
  body: null,
  errors: [...errors].sort(),
})

function requestOf(name: string, args: Args) {
  const op = operationOf(name)
  const { raw } = splitArguments(op, args)
  const query = new URLSearchParams(raw.query as Record<string, string>).toString()
  return { method: op.method, path: `${pathOf(op, raw)}${query && `?${query}`}`, body: raw.body }
}

const DOORS: Record<string, (w: TestWakeful, url: string, user: string) => Promise<Door>> = {
  library: async (w, _url, actAs) => async (name, args) => {
    try {
      return told(await anyCall(w)(name, args, { actAs }))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return refused(ERRORS[error.code].status, error.errors)
    }
  },
  HTTP: async (_w, url, user) => async (name, args) => {
    const { method, path, body } = requestOf(name, args)
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { 'wakeful-act-as': user, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    const read = text === '' ? null : JSON.parse(text)
    return answer.ok ? told(read) : refused(answer.status, flat(read.errors))
  },
  MCP: async (w, url, user) => {
    const beside = await (DOORS.HTTP as (typeof DOORS)[string])(w, url, user)
    const client = new Client({ name: 'suite', version: '1.0.0' })
    closing.push(() => client.close())
    const requestInit = { headers: { 'wakeful-act-as': user } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
    return async (name, args) => {
      const tool = TOOLS.find((row) => (row.operation ?? row.name) === name)?.name
      // What models are not offered is done beside, so that the tools meet the same state as the other doors.
      if (tool === undefined) return beside(name, args)
      const result = await client.callTool({ name: tool, arguments: args })
      if (result.isError !== true) {
        const body = unwrapped(name, result.structuredContent) as Record<string, unknown>
        // Only MCP says in words what a list holds, and what was deleted.
        if (Array.isArray(body.data)) delete body.words
        return told(Object.keys(body).join() === 'words' ? null : body)
      }
      const problem = result._meta?.['wakeful/problem'] as { status: number; errors: string[] }
      return refused(problem.status, problem.errors)
    }
  },
  client: async (_w, url, user) => {
    const client = createClient({ baseUrl: url, actAs: user })
    return async (name, args) => {
      try {
        return told(await client.call(name as never, args as never))
      } catch (error) {
        if (!(error instanceof WakefulError)) throw error
        return refused(error.status, flat(error.errors))
      }
    }
  },
}

/** Results of tools are objects: a plain array is told under `data`. */
const unwrapped = (name: string, body: unknown) =>
  operationOf(name).output instanceof z.ZodArray ? (body as { data: unknown }).data : body

/** Ids, cursors, keys and users are each door's own. */
function comparable(value: unknown): unknown {
  const text = JSON.stringify(value, (key, each) =>
    key === 'next_cursor' && each !== null ? '<cursor>' : each,
  )
  return JSON.parse(
    text
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/user-(?:library|HTTP|MCP|client)-\d+/g, '<user>')
      .replaceAll(/"key":"[^"]+"/g, '"key":"<key>"'),
  )
}

eachStore('the same operations', (store) => {
  // One app for all: opening a store takes longer than a scenario, and each scenario has users of its own.
  let w: TestWakeful
  let url: string
  beforeAll(async () => {
    w = await testWakeful({
      database: await store.database(),
      agents: { bot: agent(() => undefined) },
      env: { PORT: '0', LOG_LEVEL: 'silent' },
      startAt: '2026-11-15T18:40:00Z',
    })
    url = await w.listen()
  })
  afterAll(() => w.stop())

  it.each(Object.entries(SCENARIOS).map(([name, steps], place) => [name, steps, place] as const))(
    'mean the same through every door: %s',
    async (_name, steps, place) => {
      const seen: Record<string, unknown[]> = {}
      for (const [name, make] of Object.entries(DOORS)) {
        const door = await make(w, url, `user-${name}-${place}`)
        const kept: Args = {}
        const answers: unknown[] = []
        for (const { call, args, status, remember } of steps) {
          const given = args(kept)
          const answer = await door(call, given)
          const what = `${name}: ${call} ${JSON.stringify(given).slice(0, 200)}`
          expect(answer.status, what).toBe(status)
          if (answer.status === 'ok') remember?.(answer.body as Args, kept)
          else expect(answer.errors.length, what).toBeGreaterThan(0)
          answers.push(comparable(answer))
        }
        seen[name] = answers
      }
      for (const name of Object.keys(DOORS)) expect(seen[name], name).toEqual(seen.HTTP)
    },
  )
})
