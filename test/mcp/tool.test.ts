/** How tools are made from operations, whatever those are, and what is said of answers whose tools come with them. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Door } from '../../src/api/callers/caller.ts'
import { idParam, operation, ROLES } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { Refusal } from '../../src/core/errors.ts'
import { answerText } from '../../src/mcp/answer-text.ts'
import { callTool, mayUse, toolsOf } from '../../src/mcp/tool.ts'
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
      new Refusal('unavailable', 'the database is unreachable', { retryAfterMs: 2_000 }),
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

describe('the text of an answer', () => {
  const listed = { items: ['intent', 'intents'] as const }

  it('is the words it carries, with its id and notes', () => {
    expect(answerText({}, { id: ID, words: 'Stopped: bot.' }, {}, NOW)).toBe(
      `Stopped: bot. Its id is ${ID}.`,
    )
    const told = { words: ['Quiet.', '2 deferred.'], notes: ['1 deferred, now released'] }
    expect(answerText({}, told, {}, NOW)).toBe('Quiet. 2 deferred. Note: 1 deferred, now released.')
    const gone = { done: 'The intent $ was deleted.' }
    expect(answerText(gone, null, { id: ID }, NOW)).toBe(`The intent ${ID} was deleted.`)
  })

  it('is one line for each item of a list, and how to get the rest', () => {
    const words = `Intent "NVDA below 130" is switched off: price. Its id is ${ID}.`
    const data = [{ id: ID, words }]
    expect(answerText(listed, { data }, {}, NOW)).toBe(`1 intent, newest first:\n- ${words}`)
    expect(answerText(listed, { data }, { limit: 1 }, NOW)).toContain('again with offset 1.')
    expect(answerText(listed, { data, next_cursor: 'x' }, {}, NOW)).toContain('with cursor "x".')
    expect(answerText(listed, { data: [] }, {}, NOW)).toBe('There are no intents.')
  })

  it('tells the ledger in the words it has', () => {
    const entry = {
      trigger: { kind: 'alarm', name: 'Bank' },
      scheduled_for: '2026-11-15T08:00:00Z',
      outcome: 'suppressed',
      words: 'Held back: third unanswered follow-up in a row, cap 3',
    }
    const row = { items: ['entry', 'entries'] as const }
    expect(answerText(row, { data: [entry] }, { timezone: 'Europe/Berlin' }, NOW)).toBe(
      '1 entry, newest first:\n- today 09:00 Europe/Berlin alarm "Bank": Held back: third unanswered follow-up in a row, cap 3',
    )
  })

  it('leaves unsaid what an answer does not hold', () => {
    const odd = { data: [null, 7, {}, { trigger: 7 }], words: 7, notes: [1], id: 3 }
    for (const row of TOOLS)
      for (const answer of [{}, odd, null])
        expect(answerText(row, answer, {}, NOW), row.name).not.toMatch(
          /undefined|null|NaN|\[object/,
        )
  })
})
