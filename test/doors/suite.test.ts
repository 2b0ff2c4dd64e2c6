/**
 * One suite, four doors: the same operations through the library, HTTP, MCP and the client, compared. A scenario is a
 * row: add one for each operation that must mean the same everywhere.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, it } from 'vitest'
import type { Operation } from '../../src/api/contract.ts'
import { pathOf } from '../../src/api/door.ts'
import { splitArguments } from '../../src/api/flat.ts'
import { operations } from '../../src/api/operations.ts'
import { createClient, WakefulError } from '../../src/client.ts'
import { ERRORS, Refusal } from '../../src/core/errors.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'

type Args = Record<string, unknown>
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

const DOORS: Record<string, (w: World, url: string, user: string) => Promise<Door>> = {
  library: async (w, _url, actAs) => async (name, args) => {
    try {
      return told(await w.call(name, args, { actAs }))
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
  MCP: async (_w, url, user) => {
    const client = new Client({ name: 'suite', version: '1.0.0' })
    closing.push(() => client.close())
    const requestInit = { headers: { 'wakeful-act-as': user } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
    return async (name, args) => {
      const tool = TOOLS.find((row) => (row.operation ?? row.name) === name)?.name ?? name
      const result = await client.callTool({ name: tool, arguments: args })
      if (result.isError !== true) return told(result.structuredContent)
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

/** `remember` keeps something of an answer for later steps. */
interface Step {
  readonly call: string
  readonly args: (kept: Args) => Args
  readonly remember?: (body: Args, kept: Args) => void
  readonly status: 'ok' | number
}
const UNKNOWN = '0195f5a0-0000-7000-8000-000000000001'
const WISH = { schedule: 'tomorrow at 9am', timezone: 'Europe/Berlin', wake_message: 'Up' }
const keepId = (body: Args, kept: Args) => {
  kept.id = body.id
}
const step = (
  call: string,
  args: Step['args'],
  status: Step['status'],
  remember?: Step['remember'],
): Step => ({
  call,
  args,
  status,
  ...(remember && { remember }),
})

const SCENARIOS: Record<string, readonly Step[]> = {
  'an alarm from its setting to its end': [
    step(
      'set_alarm',
      () => ({ ...WISH, label: 'one', payload: { z: 1, a: [true, null] } }),
      'ok',
      keepId,
    ),
    step('get_alarm', ({ id }) => ({ id }), 'ok'),
    step('list_alarms', () => ({ status: 'active', limit: 5 }), 'ok'),
    step('cancel_alarm', ({ id }) => ({ id }), 'ok'),
    step('cancel_alarm', ({ id }) => ({ id }), 'ok'),
    step('list_alarms', () => ({ status: 'active' }), 'ok'),
  ],
  'a key that sets once': [
    step('set_alarm', () => ({ ...WISH, idempotency_key: 'k1' }), 'ok', keepId),
    step('set_alarm', () => ({ ...WISH, wake_message: 'other', idempotency_key: 'k1' }), 'ok'),
    step('list_alarms', () => ({}), 'ok'),
  ],
  'every kind of schedule': [
    step('set_alarm', () => ({ kind: 'once', delay_seconds: 90, wake_message: 'x' }), 'ok'),
    step(
      'set_alarm',
      () => ({
        kind: 'once',
        fire_at: '2026-12-24T18:00',
        timezone: 'Asia/Tokyo',
        wake_message: 'x',
      }),
      'ok',
    ),
    step('set_alarm', () => ({ kind: 'cron', cron_expr: '@every 90m', wake_message: 'x' }), 'ok'),
    step('set_alarm', () => ({ kind: 'cron', cron_expr: '0 9 * * 1', wake_message: 'x' }), 'ok'),
    step('list_alarms', () => ({ limit: 2 }), 'ok'),
  ],
  'a preview': [
    step(
      'preview_schedule',
      () => ({ schedule: 'every weekday at 8:30', timezone: 'Europe/Berlin', count: 5 }),
      'ok',
    ),
    step('preview_schedule', () => ({ cron_expr: '0 9 30 2 *' }), 400),
    step('preview_schedule', () => ({ schedule: 'banana' }), 400),
    step(
      'preview_schedule',
      () => ({ schedule: 'daily', cron_expr: '0 9 * * *', count: 'x' }),
      422,
    ),
  ],
  'what is refused': [
    step('set_alarm', () => ({ kind: 'cron', label: 7, colour: 'red' }), 422),
    step('set_alarm', () => ({ ...WISH, kind: 'once' }), 422),
    step('set_alarm', () => ({ ...WISH, schedule: 'often' }), 400),
    step('set_alarm', () => ({ ...WISH, timezone: 'Mars/Olympus' }), 400),
    step('set_alarm', () => ({ ...WISH, agent_id: 'nobody' }), 400),
    step(
      'set_alarm',
      () => ({ kind: 'once', fire_at: '2001-01-01T00:00:00Z', wake_message: 'x' }),
      400,
    ),
    step('set_alarm', () => ({ ...WISH, wake_message: '   ' }), 422),
    step('set_alarm', () => ({ ...WISH, wake_message: 'x'.repeat(9_000) }), 422),
    step('get_alarm', () => ({ id: UNKNOWN }), 404),
    step('get_alarm', () => ({ id: 'nonsense' }), 404),
    step('cancel_alarm', () => ({ id: UNKNOWN }), 404),
    step('list_alarms', () => ({ limit: 0 }), 422),
    step('list_alarms', () => ({ status: 'sleeping', cursor: '!' }), 422),
    step('list_alarms', () => ({}), 'ok'),
  ],
}

/** Ids and cursors are made anew for each door. */
function comparable(value: unknown): unknown {
  const text = JSON.stringify(value, (key, each) =>
    key === 'next_cursor' && each !== null ? '<cursor>' : each,
  )
  return JSON.parse(
    text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>'),
  )
}

eachStore('the same operations', (store) => {
  it.each(Object.entries(SCENARIOS))(
    'mean the same through every door: %s',
    async (_name, steps) => {
      const w = await world(store, { bot: () => undefined }, { startAt: '2026-11-15T18:40:00Z' })
      const url = await w.listen()
      const seen: Record<string, unknown[]> = {}
      for (const [name, make] of Object.entries(DOORS)) {
        const door = await make(w, url, `user-${name}`)
        const kept: Args = {}
        const answers: unknown[] = []
        for (const { call, args, status, remember } of steps) {
          const given = args(kept)
          const answer = await door(call, given)
          expect(answer.status, `${name}: ${call} ${JSON.stringify(given).slice(0, 200)}`).toBe(
            status,
          )
          if (answer.status === 'ok') remember?.(answer.body as Args, kept)
          else expect(answer.errors.length).toBeGreaterThan(0)
          answers.push(comparable(answer))
        }
        seen[name] = answers
      }
      for (const name of Object.keys(DOORS)) expect(seen[name], name).toEqual(seen.HTTP)
    },
  )
})
