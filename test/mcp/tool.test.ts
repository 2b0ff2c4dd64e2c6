/** How tools are made from operations, whatever those are, and what is said of answers whose tools come with them. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Door } from '../../src/api/callers/caller.ts'
import { idParam, operation, ROLES } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { Refusal } from '../../src/core/errors.ts'
import { callTool, mayUse, toolsOf } from '../../src/mcp/tool.ts'
import * as say from '../../src/mcp/tool-text.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const NOW = Date.parse('2026-11-15T18:40:00Z')
const ID = '0195f5a0-0000-7000-8000-000000000001'

const head = { tag: 'Work', summary: 's', output: null, run: async () => ({ body: null }) } as const
const FAKES = [
  operation({
    owner: 'caller',
    ...head,
    name: 'update_work',
    method: 'PATCH',
    path: '/v1/work/{id}',
    roles: ['admin', 'agent'],
    params: z.object({ id: idParam }),
    body: z.object({ task: z.string().optional() }),
  }),
  operation({
    owner: 'caller',
    ...head,
    name: 'create_work',
    method: 'POST',
    path: '/v1/work',
    roles: ['admin'],
    creates: true,
    query: z.object({ dry: z.stringbool().optional() }),
    body: z.object({ task: z.string() }),
    output: z.array(z.object({ at: z.iso.datetime() })),
  }),
  operation({
    ...head,
    owner: 'caller',
    name: 'get_ledger',
    method: 'GET',
    path: '/v1/ledger',
    roles: ROLES,
  }),
]

const doorThat = (call: Door['call']): Door => ({
  role: 'admin',
  keyId: null,
  now: () => NOW,
  call,
})

describe('tools', () => {
  const tools = toolsOf(FAKES)
  const tool = (name: string) => {
    const found = tools.get(name)
    if (found === undefined) throw new Error(`no tool ${name}`)
    return found
  }

  it('are there for the operations that exist, under their own names', () => {
    expect([...tools.keys()]).toEqual(['create_work', 'update_work', 'explain'])
    const real = toolsOf(operations)
    for (const name of [
      'set_alarm',
      'list_alarms',
      'get_alarm',
      'cancel_alarm',
      'preview_schedule',
    ])
      expect(real.has(name), name).toBe(true)
    expect(new Set(TOOLS.map((row) => row.name)).size).toBe(TOOLS.length)
  })

  it('take one flat object, and a key where a retry could double', () => {
    expect(tool('update_work').inputSchema).toMatchObject({
      properties: { id: { type: 'string' }, task: { type: 'string' } },
      required: ['id'],
      additionalProperties: false,
    })
    expect(Object.keys(tool('create_work').inputSchema.properties)).toEqual([
      'dry',
      'task',
      'idempotency_key',
    ])
    // Results are objects; a list is told under `data`.
    expect(tool('create_work').outputSchema).toMatchObject({ required: ['data'] })
    expect(JSON.stringify(tool('create_work').outputSchema)).not.toContain('pattern')
  })

  it('are shown to those who may use them', () => {
    expect(mayUse(tool('create_work'), 'agent')).toBe(false)
    expect(mayUse(tool('update_work'), 'agent')).toBe(true)
    expect(mayUse(tool('create_work'), null)).toBe(true)
  })

  it('tell refusals with their errors and what to do, and never hide a fault of ours', async () => {
    const refusing = (refusal: Refusal) =>
      callTool(
        tool('create_work'),
        doorThat(() => Promise.reject(refusal)),
        {},
      )
    const away = await refusing(
      new Refusal('unavailable', 'the database is away', { retryAfterMs: 2_000 }),
    )
    expect(away).toMatchObject({ ok: false, problem: { status: 503 } })
    expect(away.said).toContain('Call again in 2 s, with the same idempotency_key')
    expect((await refusing(new Refusal('forbidden', 'no'))).said).toContain('will not help')
    const fault = callTool(
      tool('explain'),
      doorThat(() => Promise.reject(new Error('bug'))),
      {},
    )
    await expect(fault).rejects.toThrow('bug')
  })
})

eachStore('a key beside the arguments', (store) => {
  it('makes any operation that creates run once, and holds for one request only', async () => {
    const w = await world(store, { bot: () => undefined }, { startAt: '2026-11-15T18:40:00Z' })
    const set = (await w.call('set_alarm', {
      kind: 'cron',
      cron_expr: '0 9 * * *',
      wake_message: 'x',
    })) as {
      id: string
    }
    const fire = (args: object) => w.call('fire_alarm_now', { id: set.id, ...args })
    const first = await fire({ idempotency_key: 'now-1' })
    expect(await fire({ idempotency_key: 'now-1' })).toEqual(first)
    const [row] = await w.query<{ n: number }>('select count(*)::int as n from wakeful.alarms')
    expect(row?.n).toBe(2)
    await expect(fire({ idempotency_key: 'x', y: 1 })).rejects.toMatchObject({
      code: 'shape',
      errors: [
        'y: is not a known field',
        'idempotency_key: takes 2 to 255 visible ASCII characters',
      ],
    })
    const other = (await w.call('set_alarm', {
      kind: 'cron',
      cron_expr: '0 9 * * *',
      wake_message: 'x',
    })) as {
      id: string
    }
    await expect(
      w.call('fire_alarm_now', { id: other.id, idempotency_key: 'now-1' }),
    ).rejects.toMatchObject({
      code: 'shape',
      errors: [expect.stringMatching(/^idempotency_key: was used/)],
    })
    await expect(w.call('make_coffee')).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('sayings', () => {
  it('tell intents with their next checks', () => {
    const view = {
      id: ID,
      intent_name: 'NVDA below 130',
      trigger_type: 'price',
      enabled: true,
      next_check: '2026-11-15T18:45:00.000Z',
      timezone: 'America/New_York',
    }
    expect(say.sayCreatedIntent(view, {}, NOW)).toBe(
      `Intent "NVDA below 130" was created and is on: price. Next check: today 13:45 America/New_York, in 5 min. Its id is ${ID}.`,
    )
    expect(say.sayIntents({ data: [{ ...view, enabled: false }] }, {}, NOW)).toBe(
      `1 intent, newest first:\n- Intent "NVDA below 130" is switched off: price. Its id is ${ID}.`,
    )
    expect(say.sayDeletedIntent({}, { id: ID }, NOW)).toContain(ID)
  })

  it('tell work with its runs', () => {
    const work = {
      id: ID,
      task: 'Summarise the news',
      frequency: 'daily at 9am',
      description: 'every day at 09:00 (Europe/Berlin)',
      timezone: 'Europe/Berlin',
      is_active: true,
      next_runs: ['2026-11-16T08:00:00.000Z', '2026-11-17T08:00:00.000Z'],
    }
    const output = {
      run_number: 1,
      status: 'completed',
      title: 'News',
      completed_at: '2026-11-15T18:39:00Z',
    }
    expect(say.sayCreatedWork({ work, output }, {}, NOW)).toBe(
      `Work "Summarise the news" was created and runs every day at 09:00 (Europe/Berlin). Next run: tomorrow 09:00 Europe/Berlin, in 13 h 20 min; then Tuesday 2026-11-17 09:00 Europe/Berlin. Its id is ${ID}. Run 1 is completed: "News" (1 min ago).`,
    )
    expect(say.sayWork({ work, outputs: [output] }, {}, NOW)).toContain('\n- Run 1 is completed')
    expect(say.sayUpdatedWork({ work: { ...work, is_active: false } }, {}, NOW)).toContain(
      'is paused',
    )
    expect(say.sayWorks({ data: [] }, {}, NOW)).toBe('There are no pieces of work.')
  })

  it('tell the ledger in the words it has', () => {
    const entry = {
      trigger: { kind: 'alarm', name: 'Bank' },
      scheduled_for: '2026-11-15T08:00:00Z',
      outcome: 'suppressed',
      words: 'Held back: third unanswered follow-up in a row, cap 3',
    }
    expect(say.sayLedger({ data: [entry] }, { timezone: 'Europe/Berlin' }, NOW)).toBe(
      '1 entry, newest first:\n- today 09:00 Europe/Berlin alarm "Bank": Held back: third unanswered follow-up in a row, cap 3',
    )
  })

  it('leave unsaid what an answer does not hold', () => {
    for (const [name, each] of Object.entries(say)) {
      const words = each({}, {}, NOW)
      expect(words, name).not.toMatch(/undefined|null|NaN|\[object/)
      const odd = { data: [null, 7, {}], next_fires: ['x'], work: 7, outputs: 'x', notes: [1] }
      expect(each(odd, {}, NOW), name).not.toMatch(/undefined|null|NaN|\[object/)
    }
  })
})
