/** `/v1/schedules`: one suite over all four kinds, over HTTP, in the library, on the command line and over MCP. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { CommanderError } from 'commander'
import { beforeEach, expect, it, vi } from 'vitest'
import { resourceCommands } from '../../packages/cli/src/resource.ts'
import { WakefulError } from '../../packages/client/src/index.ts'
import { localActor } from '../../src/api/callers/local.ts'
import { callByName } from '../../src/app/operations.ts'
import { ERRORS, Refusal } from '../../src/core/errors.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { connect } from '../mcp/stage.ts'
import { type Row, type Stage, sharedStage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** One of each kind, in the fields of HTTP, and what becomes of its first time. */
const KINDS = {
  timer: { in: '2 hours', cancel_on_reply: true, note: 'first' },
  alarm: { every: '2 hours', note: 'first', data: { n: 1 } },
  intent: { when: { price: 'NVDA', below: 130 }, note: 'first' },
  work: { every: '2 hours', run: 'report', note: 'first', with: { deep: true } },
} as const
type Kind = keyof typeof KINDS
const ALL = Object.keys(KINDS) as Kind[]

interface Answered {
  readonly status: number
  readonly body: Row
}
type Call = (operation: string, args?: Record<string, unknown>) => Promise<Answered>

const ROUTES: Readonly<Record<string, readonly [string, string]>> = {
  put_schedule: ['PUT', '/v1/schedules/{name}'],
  list_schedules: ['GET', '/v1/schedules'],
  update_schedule: ['PATCH', '/v1/schedules/{ref}'],
  pause_schedule: ['POST', '/v1/schedules/{ref}/pause'],
  resume_schedule: ['POST', '/v1/schedules/{ref}/resume'],
  run_schedule: ['POST', '/v1/schedules/{ref}/run'],
  delete_schedule: ['DELETE', '/v1/schedules/{ref}'],
}

function overHttp(s: Stage): Call {
  return async (operation, { name, ref, user_id, agent_id, ...rest } = {}) => {
    const [method, path] = ROUTES[operation] ?? ['GET', '/']
    const target = path
      .replace('{name}', encodeURIComponent(String(name)))
      .replace('{ref}', encodeURIComponent(String(ref)))
    const inBody = method === 'PUT'
    const whose = Object.entries({ user_id, agent_id, ...(method === 'GET' ? rest : {}) })
    const query = whose.flatMap(([key, value]) =>
      value === undefined || inBody ? [] : [`${key}=${encodeURIComponent(String(value))}`],
    )
    const body = inBody ? { ...rest, user_id, agent_id } : method === 'PATCH' ? rest : undefined
    const reply = await s.call(
      method,
      `${target}${query.length > 0 ? `?${query.join('&')}` : ''}`,
      body,
    )
    return { status: reply.status, body: reply.body }
  }
}

function inLibrary(s: Stage): Call {
  return async (operation, args = {}) => {
    try {
      const body = await callByName(s.app.door(localActor(undefined)), operation, args)
      return { status: 200, body: body as Row }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { status: ERRORS[error.code].status, body: { errors: error.errors } }
    }
  }
}

const VERBS: Readonly<Record<string, string>> = {
  ...{ put_schedule: 'set', list_schedules: 'list', update_schedule: 'change' },
  ...{ pause_schedule: 'pause', resume_schedule: 'resume' },
  ...{ run_schedule: 'run', delete_schedule: 'cancel' },
}
const FLAGS: Readonly<Record<string, string>> = {
  ...{ user_id: 'user', agent_id: 'agent', thread_id: 'thread' },
}

/** As somebody types it; the answer as `--json` prints it. */
function onCommandLine(s: Stage): Call {
  return async (operation, { name, ref, ...rest } = {}) => {
    const flags = Object.entries(rest).flatMap(([field, value]) => {
      if (value === undefined || value === null || value === false) return []
      const flag = `--${FLAGS[field] ?? field.replaceAll('_', '-')}`
      if (value === true) return [flag]
      return [flag, typeof value === 'object' ? JSON.stringify(value) : String(value)]
    })
    const about = [name ?? ref].flatMap((each) => (each === undefined ? [] : [String(each)]))
    const words = [VERBS[operation] ?? '', ...flags, '--json', '--url', s.url, '--', ...about]
    const printed: string[] = []
    const out = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed.push(String(text))
      return true
    })
    try {
      const command = resourceCommands().find((each) => each.name() === 'schedule')
      for (const each of command?.commands ?? [])
        each.exitOverride().configureOutput({ writeErr: () => undefined })
      await command?.parseAsync(words, { from: 'user' })
      return { status: 200, body: JSON.parse(printed.join('')) }
    } catch (error) {
      if (error instanceof WakefulError)
        return { status: error.status, body: { errors: error.errors } }
      // An unknown flag is known before anybody is asked.
      if (!(error instanceof CommanderError)) throw error
      return { status: ERRORS.shape.status, body: { errors: [error.message] } }
    } finally {
      out.mockRestore()
    }
  }
}

function overMcp(s: Stage): Call {
  const connected = connect(new StreamableHTTPClientTransport(new URL(`${s.url}/mcp?tools=all`)))
  return async (operation, args = {}) => {
    const { call } = await connected
    const tool = TOOLS.find((row) => row.operation === operation)?.name ?? operation
    const given = Object.entries(args).filter(([, value]) => value !== undefined)
    const { data, problem } = await call(tool, Object.fromEntries(given))
    return problem === undefined
      ? { status: 200, body: data as Row }
      : { status: problem.status, body: { errors: problem.errors } }
  }
}

eachStore('schedules', (store) => {
  const woken: Row[] = []
  const shared = sharedStage(store, {
    agents: {
      bot: (turn) => {
        if (turn.event.type !== 'user_message')
          woken.push({ type: turn.event.type, payload: turn.event.payload })
      },
    },
    work: {
      report: async ({ task }) => {
        woken.push({ type: 'work', payload: { task } })
        return { title: 'Report', content: task }
      },
    },
  })
  beforeEach(async () => {
    woken.length = 0
    for (const table of [
      'scheduled_intents',
      'work',
      'signals',
      'people',
      'missed',
      'work_outputs',
    ])
      await shared().query(`delete from wakeful.${table}`)
  })
  const price = (s: Stage, value: number) =>
    s.call('POST', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: value })
  const types = () => woken.map(({ type }) => type)

  for (const [surface, callOf] of [
    ['over HTTP', overHttp],
    ['in the library', inLibrary],
    ['on the command line', onCommandLine],
    ['over MCP', overMcp],
  ] as const) {
    it(`${surface}: setting twice is one schedule, and all kinds stand in one list`, async () => {
      const s = shared()
      const call = callOf(s)
      for (const kind of [...ALL, ...ALL]) {
        const { status, body } = await call('put_schedule', {
          name: kind,
          user_id: 'ann',
          ...KINDS[kind],
        })
        expect([status, body.kind, body.ref, body.name]).toEqual([200, kind, kind, kind])
        expect(body).toMatchObject({
          ...{
            user_id: 'ann',
            agent_id: 'bot',
            thread_id: 'main',
            note: 'first',
            status: 'active',
          },
          words: expect.stringContaining(`"${kind}" is set`),
        })
      }
      const { body } = await call('list_schedules', { user_id: 'ann' })
      expect(body.data.map(({ ref }: Row) => ref).toSorted()).toEqual(ALL.toSorted())
      expect(body.data.at(-1)).toMatchObject({ ref: 'intent', next_at: null })
      const first = await call('list_schedules', { user_id: 'ann', limit: 3 })
      const cursor = first.body.next_cursor
      const rest = await call('list_schedules', { user_id: 'ann', limit: 3, cursor })
      expect([...first.body.data, ...rest.body.data]).toEqual(body.data)
      expect(rest.body.next_cursor).toBeNull()
      const only = await call('list_schedules', { user_id: 'ann', kind: 'work', q: 'WORK' })
      expect(only.body.data).toHaveLength(1)
      expect((await call('list_schedules', { user_id: 'bea' })).body.data).toEqual([])
    })

    it(`${surface}: pause holds every kind, resume goes on`, async () => {
      const s = shared()
      const call = callOf(s)
      for (const kind of ALL) {
        await call('put_schedule', { name: kind, user_id: 'ann', ...KINDS[kind] })
        const paused = await call('pause_schedule', { ref: kind })
        expect([kind, paused.status, paused.body.status]).toEqual([kind, 200, 'paused'])
        expect(paused.body.next_at).toBeNull()
      }
      await price(s, 125)
      await s.advanceBy(5 * HOUR)
      expect(types()).toEqual([])
      const resumed: Row = {}
      for (const kind of ALL) {
        const { status, body } = await call('resume_schedule', { ref: kind })
        expect([kind, status, body.status]).toEqual([kind, 200, 'active'])
        resumed[kind] = body.next_at
      }
      expect(resumed).toMatchObject({
        alarm: '2026-01-01T06:00:00.000Z',
        work: '2026-01-01T06:00:00.000Z',
      })
      await s.settle()
      // The timer's only time has passed: it fires at once. The condition is looked at again.
      expect(types()).toEqual(['timer'])
      await price(s, 120)
      await s.advanceBy(HOUR)
      expect(types().toSorted()).toEqual(['alarm', 'intent', 'timer', 'work'])
      const missed = await s.query<Row>(
        'select kind, slots, rule from wakeful.missed order by kind',
      )
      expect(missed).toEqual([
        { kind: 'alarm', slots: 2, rule: 'paused' },
        { kind: 'work', slots: 2, rule: 'paused' },
      ])
    })

    it(`${surface}: a change keeps what it does not name, and may change the kind`, async () => {
      const s = shared()
      const call = callOf(s)
      for (const kind of ALL) {
        const { body: before } = await call('put_schedule', {
          name: kind,
          user_id: 'ann',
          ...KINDS[kind],
        })
        await s.advanceBy(MINUTE)
        const { status, body } = await call('update_schedule', { ref: kind, note: 'second' })
        expect([kind, status, body.note]).toEqual([kind, 200, 'second'])
        expect(body).toMatchObject({ kind, next_at: before.next_at, status: 'active' })
        const once = await call('update_schedule', { ref: kind, at: '2026-01-02T09:00:00Z' })
        const still = kind === 'intent' ? 'alarm' : kind
        expect([kind, once.status, once.body]).toMatchObject([
          kind,
          200,
          { kind: still, name: kind, note: 'second', next_at: '2026-01-02T09:00:00.000Z' },
        ])
      }
      const { body } = await call('list_schedules', { user_id: 'ann' })
      expect(body.data).toHaveLength(4)
    })

    it(`${surface}: run now fires every kind, and brings back what has ended`, async () => {
      const s = shared()
      const call = callOf(s)
      for (const kind of ALL) {
        const { body } = await call('put_schedule', { name: kind, user_id: 'ann', ...KINDS[kind] })
        const ran = await call('run_schedule', { ref: kind })
        expect([kind, ran.status]).toEqual([kind, 200])
        await s.settle()
        expect(types().at(-1)).toBe(kind)
        if (kind === 'alarm' || kind === 'work') {
          const after = (await call('list_schedules', { user_id: 'ann', kind })).body.data[0]
          expect(after.next_at).toBe(body.next_at)
        }
      }
      await call('put_schedule', { name: 'once', user_id: 'ann', in: 60 })
      await s.advanceBy(MINUTE)
      const [ended] = (await call('list_schedules', { user_id: 'ann', q: 'once' })).body.data
      expect(ended).toMatchObject({ status: 'done', last: { outcome: 'fired' } })
      for (const operation of ['pause_schedule', 'resume_schedule', 'update_schedule'])
        expect(
          (
            await call(operation, {
              ref: 'once',
              ...(operation.startsWith('update') ? { note: 'x' } : {}),
            })
          ).status,
        ).toBe(409)
      woken.length = 0
      expect((await call('run_schedule', { ref: 'once' })).body.status).toBe('active')
      await s.settle()
      expect(types()).toEqual(['alarm'])
    })

    it(`${surface}: removing takes every kind away`, async () => {
      const s = shared()
      const call = callOf(s)
      for (const kind of ALL) {
        await call('put_schedule', { name: kind, user_id: 'ann', ...KINDS[kind] })
        const gone = await call('delete_schedule', { ref: kind })
        expect([kind, gone.status, gone.body.ref]).toEqual([kind, 200, kind])
        expect((await call('delete_schedule', { ref: kind })).status).toBe(404)
      }
      expect((await call('list_schedules', { user_id: 'ann' })).body.data).toEqual([])
      await price(s, 125)
      await s.advanceBy(5 * HOUR)
      expect(types()).toEqual([])
    })

    it(`${surface}: what was made by the routes of its kind has a ref of its own`, async () => {
      const s = shared()
      const call = callOf(s)
      const alarm = await s.set({
        kind: 'once',
        delay_seconds: 60,
        wake_message: 'tea',
        label: 'tea',
      })
      const [row] = (await call('list_schedules')).body.data
      expect(row).toMatchObject({ ref: `alarm:${alarm.id}`, name: 'tea', note: 'tea' })
      const changed = await call('update_schedule', { ref: row.ref, in: '2 hours' })
      expect(changed.body).toMatchObject({
        ref: row.ref,
        name: 'tea',
        next_at: '2026-01-01T02:00:00.000Z',
      })
      await call('pause_schedule', { ref: row.ref })
      expect((await s.get(alarm.id)).status).toBe('paused')
    })

    it(`${surface}: an unknown ref is 404, an ambiguous name 409 with the refs, a wrong spec says all`, async () => {
      const s = shared()
      const call = callOf(s)
      for (const user_id of ['ann', 'bea'])
        await call('put_schedule', { name: 'x', user_id, in: '1 hour' })
      const several = await call('pause_schedule', { ref: 'x' })
      expect(several.status).toBe(409)
      expect(several.body.errors[0]).toMatch(/alarm:[0-9a-f-]+ \(\w+, bot\), alarm:/)
      expect((await call('pause_schedule', { ref: 'x', user_id: 'bea' })).status).toBe(200)
      for (const ref of [
        'none',
        'alarm:none',
        `work:${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}`,
      ])
        expect([ref, (await call('run_schedule', { ref })).status]).toEqual([ref, 404])
      const wrong = async (spec: Row) => (await call('put_schedule', { name: 'y', ...spec })).status
      expect(await wrong({})).toBe(422)
      expect(await wrong({ in: 5, at: 'tomorrow at 9am' })).toBe(422)
      expect(await wrong({ in: 5, sometime: true })).toBe(422)
      expect(await wrong({ at: 'often' })).toBe(400)
      expect(await wrong({ in: 5, agent_id: 'nobody' })).toBe(400)
      expect(await wrong({ run: 'nobody' })).toBe(400)
      expect(await wrong({ name: 'alarm:y', in: 5 })).toBe(422)
    })
  }

  it('a user’s message cancels a paused timer, too', async () => {
    const s = shared()
    const call = overHttp(s)
    await call('put_schedule', { name: 'nudge', user_id: 'ann', ...KINDS.timer })
    await call('pause_schedule', { ref: 'nudge' })
    await s.call('POST', '/v1/sessions/ann:bot:main/messages', { text: 'hello' })
    expect((await call('resume_schedule', { ref: 'nudge' })).status).toBe(404)
  })

  it('a key bound to an agent sets, sees and changes only that agent’s', async () => {
    const s = await stage(await store.database(), {
      agents: { bot: () => undefined, other: () => undefined },
      env: { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: 'a'.repeat(40) },
    })
    const admin = { authorization: `Bearer ${'a'.repeat(40)}` }
    const did = 'did:matrix:ann:1111111111111111'
    const made = await s.call(
      ...([
        'POST',
        '/v1/keys',
        { role: 'agent', user_id: 'ann', agent_id: 'bot', owner_did: did },
      ] as const),
      admin,
    )
    const own = { authorization: `Bearer ${made.body.key}` }
    const put = (name: string, body: object, headers: Record<string, string>) =>
      s.call('PUT', `/v1/schedules/${name}`, body, headers)
    const kinds = { ...KINDS, work: { ...KINDS.work, run: 'reporting' } }
    for (const [kind, spec] of Object.entries(kinds)) {
      const theirs = { ...spec, user_id: 'ann', agent_id: 'other' }
      expect((await put(`their-${kind}`, theirs, admin)).status).toBe(200)
      const mine = await put(`my-${kind}`, spec, own)
      expect(mine.body).toMatchObject({ agent_id: 'bot', user_id: 'ann' })
      expect((await put('x', { ...spec, agent_id: 'other' }, own)).status).toBe(404)
      for (const [method, path] of [
        ['POST', `/v1/schedules/their-${kind}/pause`],
        ['POST', `/v1/schedules/their-${kind}/run`],
        ['DELETE', `/v1/schedules/their-${kind}`],
      ] as const)
        expect([path, (await s.call(method, path, undefined, own)).status]).toEqual([path, 404])
      for (const verb of ['pause', 'resume', 'run'])
        expect(
          (await s.call('POST', `/v1/schedules/my-${kind}/${verb}`, undefined, own)).status,
        ).toBe(200)
    }
    const { body } = await s.call('GET', '/v1/schedules', undefined, own)
    expect(body.data.every(({ agent_id }: Row) => agent_id === 'bot')).toBe(true)
    const audited = await s.query<Row>(
      `select distinct operation from wakeful.audit_log where operation like '%schedule%' order by 1`,
    )
    expect(audited.map(({ operation }) => operation)).toEqual([
      ...['pause_schedule', 'put_schedule', 'resume_schedule', 'run_schedule'],
    ])
  })
})
