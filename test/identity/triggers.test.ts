/** Invariant 12 where one request makes others' things happen: signals, work that is waited for, and tools. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { makeKey } from '../../src/features/identity/key.ts'
import { insertQuestions } from '../../src/features/questions/rows.ts'
import { connect } from '../mcp/stage.ts'
import type { Loose } from '../setup/http.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { ADMIN_KEY, type Stage, sharedStage } from './stage.ts'

const watch = (ticker: string, value: number) => ({
  ...{ agent_id: 'bot', intent_name: 'cheap', action_context: 'tell' },
  ...{ trigger_type: 'price', trigger_condition: { ticker, operator: '<', value } },
})
/** What a tool takes beside an id. */
const CHANGES: Readonly<Record<string, object>> = {
  update_work: { is_active: false },
  update_alarm: { label: 'other' },
}
const UNKNOWN = '0195f5a0-0000-7000-8000-000000000001'

interface Two {
  readonly s: Stage
  /** Keys of two owners, by role. */
  readonly ann: Record<'agent' | 'user', string>
  readonly bea: Record<'agent' | 'user', string>
  ok(key: string, method: string, path: string, body?: unknown, key2?: string): Promise<Loose>
}

function two(store: StoreUnderTest): () => Two {
  const stage = sharedStage(store)
  let made: Two
  beforeAll(async () => {
    const s = stage()
    const keysOf = async (user_id: string) => ({
      agent: (await s.key({ role: 'agent', user_id })).key,
      user: (await s.key({ role: 'user', user_id })).key,
    })
    made = {
      s,
      ann: await keysOf('ann'),
      bea: await keysOf('bea'),
      async ok(key, method, path, body, idempotency) {
        const headers = idempotency === undefined ? {} : { 'idempotency-key': idempotency }
        const reply = await s.call(key, method, path, body, headers)
        expect(reply.status, reply.text).toBeLessThan(300)
        return reply.body
      },
    }
  })
  return () => made
}

eachStore('owners and what they set off', (store) => {
  const open = two(store)

  describe('a signal', () => {
    const fires = async (s: Stage, ticker: string) =>
      (
        await s.query<{ who: string }>(
          `select split_part(session_key, ':', 1) as who from wakeful.events
           where type = 'intent' and payload::text like '%' || $1 || '%' order by 1`,
          [ticker],
        )
      ).map(({ who }) => who)

    /** Both wait for the same price. */
    async function bothWait(ticker: string): Promise<Two> {
      const t = open()
      for (const who of [t.ann, t.bea])
        await t.ok(who.agent, 'POST', '/v1/intents', watch(ticker, 100))
      return t
    }

    it.each([
      ['user', undefined],
      ['agent', undefined],
      ['user', 'with-a-key-1'],
      ['agent', 'with-a-key-2'],
    ] as const)('of a %s key fires that owner’s intents alone (key %s)', async (role, key) => {
      const ticker = `T${role}${key?.at(-1) ?? ''}`
      const { s, ann, ok } = await bothWait(ticker)
      const body = { kind: 'price', ticker, price: 90 }
      const told = await ok(ann[role], 'POST', '/v1/signals', body, key)
      expect(told).toMatchObject({ promoted: 1, known: false, signal: { user_id: 'ann' } })
      expect(await fires(s, ticker.toUpperCase())).toEqual(['ann'])
    })

    it('cannot be told for somebody else, whatever its body says', async () => {
      const { s, ann, ok } = await bothWait('OTHER')
      const body = { kind: 'price', ticker: 'OTHER', price: 90, user_id: 'bea' }
      expect((await ok(ann.agent, 'POST', '/v1/signals', body)).signal.user_id).toBe('ann')
      expect(await fires(s, 'OTHER')).toEqual(['ann'])
    })

    it('of an admin is for everybody, and the audit log says who told it', async () => {
      const { s, ok } = await bothWait('ALL')
      const body = { kind: 'price', ticker: 'ALL', price: 90 }
      const told = await ok(ADMIN_KEY, 'POST', '/v1/signals', body)
      expect(told).toMatchObject({ promoted: 2, signal: { user_id: null } })
      expect(await fires(s, 'ALL')).toEqual(['ann', 'bea'])
      const entries = await s.query(
        'select operation, actor_role, owner from wakeful.audit_log where object_id = $1',
        [told.signal.id],
      )
      expect(entries).toEqual([{ operation: 'post_signal', actor_role: 'admin', owner: null }])
      // Told again it changes nothing, so nothing is written.
      const again = await ok(ADMIN_KEY, 'POST', '/v1/signals', { ...body, at: told.signal.at })
      expect(again.known).toBe(true)
      const [count] = await s.query(
        'select count(*)::int as n from wakeful.audit_log where object_id = $1',
        [told.signal.id],
      )
      expect(count?.n).toBe(1)
    })
  })

  describe('work', () => {
    it.each([undefined, 'waits-once'])('is waited for after its commit (key %s)', async (key) => {
      const { s, ann, bea, ok } = open()
      const body = { task: 'what happened', agent_type: 'reporting', wait_seconds: 30 }
      const waiting = ok(ann.agent, 'POST', '/v1/work', body, key)
      let answered = false
      const done = waiting.finally(() => {
        answered = true
      })
      while (!answered) {
        await s.app.engine.quiesce()
        await new Promise((next) => setImmediate(next))
      }
      const first = await done
      const { work, output } = first
      expect(output).toMatchObject({ status: 'completed', user_id: 'ann', run_number: 1 })
      if (key !== undefined)
        expect(await ok(ann.agent, 'POST', '/v1/work', body, key)).toEqual(first)
      for (const path of [`/v1/work/${work.id}`, `/v1/work/${work.id}/outputs/1`])
        expect((await s.call(bea.agent, 'GET', path)).status).toBe(404)
      expect((await ok(bea.agent, 'GET', '/v1/work')).data).toEqual([])
    })

    it('is not made for somebody else', async () => {
      const { s, ann } = open()
      const body = { task: 't', agent_type: 'reporting', user_id: 'bea' }
      expect((await s.call(ann.agent, 'POST', '/v1/work', body)).status).toBe(403)
    })
  })

  describe('an admin who acts for one and names another', () => {
    const MAKES = {
      '/v1/intents': { ...watch('NAMED', 1), user_id: 'bea' },
      '/v1/work': { task: 't', agent_type: 'reporting', user_id: 'bea' },
      '/v1/signals': { kind: 'event', name: 'named', user_id: 'bea' },
    }
    it.each(Object.entries(MAKES))('makes it for whom the body names: %s', async (path, body) => {
      const { s } = open()
      const headers = { 'wakeful-act-as': 'ann' }
      const keyed = { ...headers, 'idempotency-key': `named${path}` }
      const bodies = path === '/v1/signals' ? [body, { ...body, name: 'again' }] : [body, body]
      for (const [place, sent] of [headers, keyed].entries()) {
        const id = `named-${place}${path.replaceAll('/', '-')}`
        const asked = { ...sent, 'x-request-id': id }
        const reply = await s.call(ADMIN_KEY, 'POST', path, bodies[place], asked)
        expect(reply.status, reply.text).toBeLessThan(300)
        const { work, signal } = reply.body
        expect((work ?? signal ?? reply.body).user_id).toBe('bea')
        const log = await s.query('select owner from wakeful.audit_log where request_id = $1', [id])
        expect(log).toEqual([{ owner: 'bea' }])
      }
    })

    it('lists whom the query names', async () => {
      const { s, bea, ok } = open()
      const { id } = await ok(bea.agent, 'POST', '/v1/intents', watch('LISTED', 1))
      const headers = { 'wakeful-act-as': 'ann' }
      const path = '/v1/intents?user_id=bea&ticker=listed'
      const { body } = await s.call(ADMIN_KEY, 'GET', path, undefined, headers)
      expect(body.map((intent: Loose) => intent.id)).toEqual([id])
    })
  })

  describe('/mcp', () => {
    const client = (s: Stage, key: string) =>
      connect(
        new StreamableHTTPClientTransport(new URL(`${s.url}/mcp?tools=all`), {
          requestInit: { headers: { authorization: `Bearer ${key}` } },
        }),
      )

    it('wants a valid key', async () => {
      const { s } = open()
      const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
      for (const key of [null, 'x', makeKey('admin', UNKNOWN).key]) {
        const reply = await s.call(key, 'POST', '/mcp', ping)
        expect(reply.status, reply.text).toBe(401)
        s.sleep(1_000)
      }
      const acting = { 'wakeful-act-as': 'bea' }
      const { ann } = open()
      expect((await s.call(ann.agent, 'POST', '/mcp', ping, acting)).status).toBe(403)
    })

    it('lets each owner reach their own and nobody else’s, by every tool that takes an id', async () => {
      const { s, ann, bea } = open()
      const hers = await client(s, ann.agent)
      const theirs = await client(s, bea.agent)
      const set = { kind: 'once', delay_seconds: 3600, wake_message: 'hers', agent_id: 'bot' }
      const alarm = (await hers.call('set_alarm', set)).data.id
      const intent = (await hers.call('create_intent', watch('MCP', 1))).data.id
      const task = { task: 'hers', agent_type: 'reporting', frequency: 'daily' }
      const work = ((await hers.call('create_work', task)).data.work as { id: string }).id
      const question = newId()
      await insertQuestions(s.app.store.db, [
        {
          ...{ bucket: bucketOf('ann'), id: question, user_id: 'ann', session_key: 'ann:bot:t' },
          ...{ event_seq: 1, text: 'hers', options: '["Yes","No"]', default_answer: null },
          ...{ until_at: null, payload: '{}', unattended: false, traceparent: null, lineage: null },
        },
      ])
      const ids: Record<string, unknown> = { alarm, intent, work, question }
      for (const id of Object.values(ids)) expect(id).toBeTypeOf('string')
      const { tools } = await theirs.client.listTools()
      const byId = tools.filter(
        ({ name, inputSchema: { required } }) =>
          required?.join() === 'id' && (name.split('_')[1] ?? '') in ids,
      )
      expect(byId.length).toBeGreaterThanOrEqual(7)
      for (const { name } of byId) {
        const id = ids[name.split('_')[1] ?? '']
        const answer = await theirs.call(name, { id, ...CHANGES[name] })
        expect(answer.problem?.status, name).toBe(404)
      }
      for (const name of ['list_alarms', 'list_work']) {
        const listed = (await theirs.call(name)).data.data as { id: string }[]
        for (const { id } of listed) expect([alarm, work], name).not.toContain(id)
      }
      const shown = (await hers.call('list_work')).data.data as { id: string }[]
      expect(shown.map(({ id }) => id)).toContain(work)
      const rows = await s.query('select operation from wakeful.audit_log where object_id = $1', [
        alarm,
      ])
      expect(rows).toEqual([{ operation: 'set_alarm' }])
    })

    it('offers a role the tools that it may use, and refuses the others by name', async () => {
      const { s, ann } = open()
      const { client: mcp, call } = await client(s, ann.user)
      const names = (await mcp.listTools()).tools.map(({ name }) => name)
      expect(names).toContain('list_work')
      expect(names).not.toContain('create_work')
      const agents = await (await client(s, ann.agent)).client.listTools()
      expect(names.length).toBeLessThan(agents.tools.length)
      const refused = await call('create_work', { task: 't', agent_type: 'reporting' })
      expect(refused.problem).toMatchObject({
        status: 403,
        errors: ['create_work is for admin, service, agent; these credentials are user'],
      })
    })
  })
})
