/**
 * Walks the OpenAPI document: every route, with every kind of credentials that must not open it. A route that is new is
 * walked too; one that cannot be exercised fails here until an example says how, or a reason why not.
 */
import { beforeAll, expect, it } from 'vitest'
import { saveSubscription } from '../../packages/subscriptions/src/rows.ts'
import { operations } from '../../src/app/operations.ts'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { makeKey, ROLES, type Role } from '../../src/features/identity/key.ts'
import { insertQuestions } from '../../src/features/questions/rows.ts'
import type { Loose, Reply } from '../setup/http.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { ADMIN_KEY, type Stage, sharedStage } from './stage.ts'

const PLANTED = 'planted-7c1f0e'

/** A right body for each operation that takes one, by its name. */
const BODIES: Record<string, object> = {
  post_message: { text: PLANTED },
  post_tool_result: { tool_id: 't', payload: { note: PLANTED } },
  promise: { text: 'I will', delay_seconds: 3_600, wait_seconds: 0 },
  answer_question: { answer: 'Yes' },
  put_timer: { delay_seconds: 3600, payload: { note: PLANTED } },
  set_alarm: {
    kind: 'once',
    agent_id: 'bot',
    delay_seconds: 3600,
    wake_message: PLANTED,
    payload: { p: PLANTED },
  },
  update_alarm: { label: PLANTED },
  put_hook: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
  preview_schedule: { schedule: 'every monday at 9am' },
  put_schedule: { agent_id: 'bot', every: 'day at 9am', note: PLANTED, data: { p: PLANTED } },
  update_schedule: { note: PLANTED },
  forecast: { days: 1 },
  create_key: { role: 'user', user_id: 'ann' },
  create_challenge: { did: 'did:matrix:ann:00000000000000aa' },
  verify_challenge: {
    did: 'did:matrix:ann:00000000000000aa',
    public_key: '0'.repeat(64),
    nonce: 'n',
    signature: '0'.repeat(128),
  },
  create_intent: {
    intent_name: PLANTED,
    trigger_type: 'cron',
    trigger_schedule: { cron: '0 9 * * *' },
    action_context: PLANTED,
  },
  update_intent: { description: PLANTED },
  fire_intent: { status: 'success' },
  claim_intent: { seconds: 60 },
  claim_pending_intents: { seconds: 1 },
  post_signal: { kind: 'price', ticker: 'X', price: 1 },
  create_work: { task: PLANTED, agent_type: 'reporting', frequency: 'daily at 9am' },
  update_work: { task: PLANTED },
  register_agent: { id: 'elsewhere-2', url: 'https://agents.example/turn' },
  ack_messages: { ids: [newId()] },
  update_agent: { enabled: false },
  create_telegram_link: { session_key: 'ann:bot:t' },
  create_langgraph_cron: {
    assistant_id: 'bot',
    schedule: '0 9 * * *',
    input: { note: PLANTED },
    metadata: { note: PLANTED },
  },
  create_langgraph_thread_cron: {
    assistant_id: 'bot',
    schedule: '0 9 * * *',
    input: { note: PLANTED },
  },
  update_langgraph_cron: { input: { note: PLANTED } },
  search_langgraph_crons: {},
  count_langgraph_crons: {},
  subscribe: {
    name: 'alarm.due',
    url: 'https://there.example/hook',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  },
  unsubscribe: { name: 'alarm.due', url: 'https://there.example/hook' },
  poll_events: { name: 'alarm.due' },
  create_link: { channel: 'paper', session_key: 'ann:bot:t' },
  update_link: { first: true },
  set_preferences: { quiet_hours: [{ from: '22:00', to: '07:30' }], muted_agents: [PLANTED] },
  pause: { for: '1 hour' },
  release_deferred: {},
  stop: { level: 'agent', target: 'nobody', reason: PLANTED },
  resume_stop: {},
  drop_stop: {},
}

/** What a path needs that its collection's POST does not make: how to get there, and its parameters. */
const PARAMS: Record<string, (s: Stage, keys: Keys) => Promise<Record<string, string>>> = {
  '/v1/sessions/{session_key}': async (s, keys) => {
    const path = '/v1/sessions/ann:bot:t'
    made(await s.call(keys.agent, 'POST', `${path}/messages`, { text: PLANTED }))
    made(await s.call(keys.agent, 'PUT', `${path}/timers/tea`, BODIES.put_timer))
    return { session_key: 'ann:bot:t', timer_id: 'tea' }
  },
  '/v1/agents/{agent_id}': async (s) => {
    const agent = { ...BODIES.register_agent, id: 'elsewhere' }
    made(await s.call(ADMIN_KEY, 'POST', '/v1/agents', agent))
    return { agent_id: 'elsewhere' }
  },
  '/v1/hooks/{name}': async (s) => {
    made(await s.call(ADMIN_KEY, 'PUT', '/v1/hooks/shop', BODIES.put_hook))
    return { name: 'shop' }
  },
  '/v1/schedules/{name}': async () => ({ name: 'daily' }),
  '/v1/schedules/{ref}': async (s, keys) => {
    made(await s.call(keys.agent, 'PUT', '/v1/schedules/known', BODIES.put_schedule))
    return { ref: 'known' }
  },
  '/v1/subscriptions/{id}': async (s) => {
    const id = newId()
    await saveSubscription(s.app.store.db, {
      ...{ bucket: bucketOf('ann'), id, userId: 'ann', principal: 'ann', keyId: null },
      ...{ name: 'alarm.due', args: `{"label":"${PLANTED}"}`, url: 'https://there.example' },
      ...{ secret: PLANTED, cursor: '', expiresAt: null, oldSecretMs: 0 },
    })
    return { id }
  },
  '/v1/questions/{id}': async (s) => {
    const id = newId()
    await insertQuestions(s.app.store.db, [
      {
        ...{ bucket: bucketOf('ann'), id, user_id: 'ann', session_key: 'ann:bot:t', event_seq: 1 },
        ...{ text: PLANTED, options: '["Yes","No"]', default_answer: null, until_at: null },
        ...{ payload: '{}', unattended: false, traceparent: null, lineage: null },
      },
    ])
    return { id }
  },
  '/v1/ledger/{id}': async (s, keys) => {
    const { body } = made(await s.call(keys.agent, 'POST', '/v1/alarms', BODIES.set_alarm))
    const id = newId()
    await s.query(
      `insert into wakeful.alarm_wakes (bucket, delivery_id, alarm_id, user_id, name, scheduled_for, attempts, status, error, created_at, finished_at)
       values ($1, $2::uuid, $3::uuid, 'ann', $4, now(), 1, 'failed', 'no luck', now(), now())`,
      [bucketOf('ann'), id, body.id, PLANTED],
    )
    return { id }
  },
  '/v1/stops/{id}': async (s) => {
    const { body } = made(await s.call(ADMIN_KEY, 'POST', '/v1/stops', BODIES.stop))
    return { id: body.id }
  },
  '/v1/people/{user_id}': async () => ({ user_id: 'ann' }),
  '/v1/telegram/links/{session_key}': async () => ({ session_key: 'ann:bot:t' }),
  '/runs/crons/{cron_id}': async (s, keys) => {
    const { body } = made(
      await s.call(keys.agent, 'POST', '/runs/crons', BODIES.create_langgraph_cron),
    )
    return { cron_id: body.cron_id }
  },
  '/threads/{thread_id}': async () => ({ thread_id: 'thread' }),
  '/v1/links/{id}': async () => ({ id: newId() }),
  '/v1/work/{id}': async (s, keys) => {
    const { body } = made(await s.call(keys.agent, 'POST', '/v1/work', BODIES.create_work))
    return { id: body.work.id, run_number: body.output.run_number }
  },
}

/** Right requests that leave no entry in the audit log, and why. */
const UNRECORDED: Record<string, string> = {
  preview_schedule: 'stores nothing',
  forecast: 'stores nothing',
  poll_events: 'changes nothing',
  claim_pending_intents: 'a worker that polls would fill the log; its reports are in it',
  create_challenge: 'a nonce that nobody has used changes nothing',
  search_langgraph_crons: 'reads',
  count_langgraph_crons: 'reads',
}

/** What a path names that is everybody's own, and why. */
const NOT_SHARED: Record<string, string> = {
  put_schedule: 'a schedule of the same name is another one of another person',
  create_langgraph_thread_cron: 'a thread of the same name is another session of another person',
}

/** Routes whose rightful request is not made here, and why. */
const NOT_TRIED: Record<string, string> = {
  ack_messages: 'needs a message: see test/streaming/sse.test.ts',
  verify_challenge: 'needs a signature: see did.test.ts',
  create_telegram_link: 'needs a bot: see test/telegram',
  subscribe: 'needs a receiver that answers: see test/subscriptions',
  delete_telegram_link: 'needs a linked chat: see test/telegram',
  create_link: 'needs a channel: see test/channels',
  update_link: 'as create_link',
  delete_link: 'as create_link',
  test_link: 'as create_link',
  stop: 'the same again changes nothing: see test/limits/stops.test.ts',
  resume_stop: 'as stop',
  drop_stop: 'as stop',
  retry_alarm: 'needs an alarm that failed: see test/alarms',
  revoke_key: 'made where the key is revoked below',
}

interface Route {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly roles: readonly Role[] | 'public'
  readonly takesBody: boolean
}
type Keys = Record<Role, string>

function made(reply: Reply<Loose>): Reply<Loose> {
  if (reply.status >= 300) throw new Error(`an example was refused: ${reply.text}`)
  return reply
}

/** As the document tells it: who may call a route is part of what it says. */
async function readRoutes(s: Stage): Promise<Route[]> {
  const { body } = await s.call(null, 'GET', '/openapi.json')
  return Object.entries<Loose>(body.paths).flatMap(([path, methods]) =>
    Object.entries<Loose>(methods).map(([method, op]) => {
      const told = /(?:^|\n\n)For ([\w, ]+) keys\.$/.exec(op.description)?.[1]?.split(', ')
      const isPublic = op.security?.length === 0
      if (told === undefined && !isPublic) throw new Error(`${op.operationId} says not for whom`)
      return {
        name: op.operationId,
        method: method.toUpperCase(),
        path,
        roles: isPublic ? 'public' : (told as Role[]),
        takesBody: op.requestBody !== undefined,
      }
    }),
  )
}

eachStore('every route of the OpenAPI document', (store) => walk(store))

function walk(store: StoreUnderTest): void {
  const stage = sharedStage(store, {
    LOG_LEVEL: 'trace',
    WEB_PUSH_SECRET: 'x'.repeat(32),
    WEB_PUSH_CONTACT: 'mailto:ops@a.example',
  })
  let routes: Route[] = []
  let ann: Keys
  let bea: Keys
  let wrong: Record<string, string | null>
  const params = new Map<string, Record<string, string>>()
  const secrets = new Set<string>([ADMIN_KEY])

  beforeAll(async () => {
    const s = stage()
    routes = await readRoutes(s)
    const make = async (body: Record<string, unknown>) => {
      const made = await s.key(body)
      secrets.add(made.key)
      return made
    }
    const keysOf = async (user: string): Promise<Keys> => ({
      admin: (await make({ role: 'admin' })).key,
      service: (await make({ role: 'service' })).key,
      agent: (await make({ role: 'agent', user_id: user })).key,
      user: (await make({ role: 'user', user_id: user })).key,
      worker: (await make({ role: 'worker', user_id: user })).key,
    })
    ann = await keysOf('ann')
    bea = await keysOf('bea')
    const soon = new Date(s.now().getTime() + 60_000).toISOString()
    const expired = await make({ role: 'admin', expires_at: soon })
    const revoked = await make({ role: 'admin' })
    const gone = await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${revoked.id}`)
    expect(gone.body.revoked_at).toBeDefined()
    s.sleep(61_000)
    wrong = {
      'no key': null,
      'malformed key': 'x',
      'key of nobody': makeKey('admin', newId()).key,
      'wrong secret for a known id': makeKey('admin', revoked.id).key,
      'expired key': expired.key,
      'revoked key': revoked.key,
    }
  })

  /** The parameters of a path: from its own maker, or by a POST to its collection. */
  async function fill(path: string): Promise<string> {
    const base = /^[^{]*\{\w+\}/.exec(path)?.[0]
    if (base === undefined) return path
    if (!params.has(base)) params.set(base, await makeExample(base))
    const known = params.get(base) ?? {}
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
      const value = known[name]
      if (value === undefined) throw new Error(`PARAMS: how is {${name}} of ${path} made?`)
      return value
    })
  }

  async function makeExample(base: string): Promise<Record<string, string>> {
    const s = stage()
    const own = PARAMS[base]
    if (own !== undefined) return own(s, ann)
    const collection = base.replace(/\/\{\w+\}$/, '')
    const create = routes.find((route) => route.path === collection && route.method === 'POST')
    const body = create && BODIES[create.name]
    if (create === undefined || body === undefined)
      throw new Error(`PARAMS or BODIES: how is an example of ${base} made?`)
    const key = create.roles.includes('agent') ? ann.agent : ADMIN_KEY
    const { body: answer } = made(await s.call(key, 'POST', collection, body))
    const inner = Object.values<Loose>(answer).find((part) => typeof part?.id === 'string')
    const name = /\{(\w+)\}$/.exec(base)?.[1] ?? ''
    return { [name]: answer.id ?? inner?.id }
  }

  const ask = async (route: Route, key: string | null, headers?: Record<string, string>) => {
    const body = route.takesBody ? BODIES[route.name] : undefined
    if (route.takesBody && body === undefined)
      throw new Error(`BODIES: which body is right for ${route.name}?`)
    return stage().call(key, route.method, await fill(route.path), body, headers)
  }

  /** All rows of everything, to see that refused requests change nothing. */
  const contents = async () => {
    const tables = await stage().query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'wakeful' order by 1`,
    )
    const rows: Record<string, unknown> = {}
    for (const { name } of tables) {
      const columns = name === 'api_keys' ? 'id, revoked_at' : '*'
      rows[name] = await stage().query(`select ${columns} from wakeful.${name} order by 1, 2`)
    }
    return rows
  }

  const leaksNothing = (reply: Reply<Loose>, what: string) => {
    expect(reply.text, what).not.toContain(PLANTED)
    for (const secret of secrets) expect(reply.text, what).not.toContain(secret)
  }

  it('an admin who acts for somebody is answered by every route that reads', async () => {
    const reads = routes.filter(({ method, name }) => method === 'GET' && !(name in NOT_TRIED))
    const headers = { 'wakeful-act-as': 'ann' }
    for (const route of reads)
      expect((await ask(route, ADMIN_KEY, headers)).status, route.name).toBeLessThan(500)
  })

  it('says for whom it is, as the table of operations does', () => {
    expect(routes.length).toBe(operations.length)
    for (const op of operations)
      expect(routes.find((route) => route.name === op.name)?.roles).toEqual(op.roles)
  })

  it('answers 401 to whoever has no valid key, and changes nothing', async () => {
    for (const route of routes) await fill(route.path)
    const before = await contents()
    for (const route of routes) {
      if (route.roles === 'public') continue
      for (const [kind, key] of Object.entries(wrong)) {
        // Wrong keys cost an address its tokens; time brings them back.
        stage().sleep(4_000)
        const reply = await ask(route, key)
        expect(reply.status, `${route.name} with ${kind}: ${reply.text}`).toBe(401)
        expect(reply.headers.get('www-authenticate')).toBe('Bearer')
        leaksNothing(reply, `${route.name} with ${kind}`)
      }
    }
    expect(await contents()).toEqual(before)
  })

  it('answers 403 to a role that may not, and to Wakeful-Act-As from those who may not act for others', async () => {
    const before = await contents()
    for (const route of routes) {
      if (route.roles === 'public') continue
      for (const role of ROLES) {
        const may = route.roles.includes(role)
        const header = { 'wakeful-act-as': 'bea' }
        if (may && (role === 'admin' || role === 'service')) continue
        const reply = await ask(route, ann[role], may ? header : {})
        expect(reply.status, `${route.name} as ${role}: ${reply.text}`).toBe(403)
        leaksNothing(reply, `${route.name} as ${role}`)
      }
    }
    expect(await contents()).toEqual(before)
  })

  it('answers 404 to another owner, whose lists do not hold it either, and changes nothing', async () => {
    for (const route of routes) await fill(route.path)
    const before = await contents()
    for (const route of routes) {
      const { roles, name } = route
      if (roles === 'public') continue
      for (const role of ['agent', 'user', 'worker'] as const) {
        if (!roles.includes(role) || name in NOT_SHARED) continue
        if (!route.path.includes('{') && route.method !== 'GET') continue
        const reply = await ask(route, bea[role])
        const expected = route.path.includes('{') ? 404 : 200
        expect(reply.status, `${name} by another ${role}: ${reply.text}`).toBe(expected)
        leaksNothing(reply, `${name} by another ${role}`)
      }
    }
    expect(await contents()).toEqual(before)
  })

  it('works for those who may, and every change is in the audit log', async () => {
    const s = stage()
    // What ends an object comes last.
    const last = (route: Route) => Number(route.method === 'DELETE')
    for (const route of routes.toSorted((a, b) => last(a) - last(b))) {
      if (route.name in NOT_TRIED) continue
      const roles = route.roles === 'public' ? ['agent' as const] : route.roles
      const role = (['agent', 'user', 'worker', 'admin'] as const).find((each) =>
        roles.includes(each),
      )
      const id = newId()
      const reply = await ask(route, ann[role ?? 'admin'], { 'x-request-id': id })
      expect(reply.status, `${route.name} as ${role}: ${reply.text}`).toBeLessThan(300)
      const rows = await s.query(
        'select operation, actor_role, summary, object_id from wakeful.audit_log where request_id = $1',
        [id],
      )
      const changes = route.method !== 'GET' && !(route.name in UNRECORDED)
      expect(rows.length, `${route.name} in the audit log`).toBe(changes ? 1 : 0)
      if (!changes) continue
      expect(rows[0]).toMatchObject({ operation: route.name, actor_role: role })
      expect(JSON.stringify(rows)).not.toContain(PLANTED)
    }
    const [revoked] = await s.query<{ n: number }>(
      `select count(*)::int as n from wakeful.audit_log where operation = 'revoke_key'`,
    )
    expect(revoked?.n).toBe(1)
  })

  it('logs none of the secrets and none of the words', async () => {
    const s = stage()
    const [kept] = await s.query<{ value: string }>(
      `select value from wakeful.settings where key = 'webhook_secret'`,
    )
    expect(s.log().split('\n').length).toBeGreaterThan(100)
    for (const secret of [...secrets, kept?.value ?? '?', PLANTED])
      expect(s.log(), secret).not.toContain(secret)
    const keys = await s.call(ADMIN_KEY, 'GET', '/v1/keys?limit=500')
    for (const secret of secrets) expect(keys.text).not.toContain(secret)
  })
}
