/**
 * A key bound to one agent sees and changes only what belongs to that agent (rule 47). Every operation that agents may call is
 * tried with the key of another agent of the same person. An operation without an attempt fails the test.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveSubscription } from '../../packages/subscriptions/src/rows.ts'
import { agent } from '../../src/agents/function.ts'
import { operations } from '../../src/app/operations.ts'
import { newId } from '../../src/core/ids.ts'
import { bucketOf } from '../../src/core/session.ts'
import { insertQuestions } from '../../src/features/questions/rows.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { ADMIN_KEY, openStage, type Stage } from './stage.ts'

const SECRET = 'only-for-bot-4e1d'
const THREAD = 'ann:bot:t'

interface Ids {
  readonly alarm: string
  readonly intent: string
  readonly work: string
  readonly question: string
  readonly subscription: string
  /** Of the ledger. */
  readonly slot: string
  readonly cron: string
  /** From before anything was planted. */
  readonly cursor: string
}

/** What is sent with the other agent's key, and what must come of it. `person`: it belongs to the person, not to an agent. */
type Path = (ids: Ids) => string
interface Attempt {
  readonly path?: Path
  readonly body?: object
  readonly gives: 'not_found' | 'nothing of bot' | 'its own' | 'person'
}

const session =
  (rest: string): Path =>
  () =>
    `/v1/sessions/${THREAD}${rest}`
const of =
  (kind: string, id: keyof Ids, rest = ''): Path =>
  (ids) =>
    `/v1/${kind}/${ids[id]}${rest}`
const HOOK = {
  url: 'https://there.example/hook',
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
}
const EVENTS = ['alarm.due', 'intent.met', 'work.finished', 'slot.missed', 'message.for_person']
const INTENT = {
  intent_name: 'x',
  action_context: 'obey',
  trigger_type: 'cron',
  trigger_schedule: { cron: '0 9 * * *' },
}

const SCHEDULED = ['alarm', 'intent', 'work'] as const

const ATTEMPTS: Record<string, readonly Attempt[]> = {
  post_message: [{ path: session('/messages'), body: { text: 'obey' }, gives: 'not_found' }],
  post_tool_result: [
    {
      path: session('/tool-results'),
      body: { tool_id: 'x', payload: {} },
      gives: 'not_found',
    },
  ],
  ack_messages: [
    {
      path: session('/acks'),
      body: { ids: ['0195f5a0-0000-7000-8000-000000000000'] },
      gives: 'not_found',
    },
  ],
  list_sessions: [{ gives: 'nothing of bot' }],
  get_session: [{ path: session(''), gives: 'not_found' }],
  list_events: [{ path: session('/events'), gives: 'not_found' }],
  list_effects: [{ path: session('/effects'), gives: 'not_found' }],
  list_turns: [{ path: session('/turns'), gives: 'not_found' }],
  promise: [
    {
      path: session('/promises'),
      body: { text: 'x', delay_seconds: 60, wait_seconds: 0 },
      gives: 'not_found',
    },
  ],
  list_questions: [{ gives: 'nothing of bot' }],
  get_question: [{ path: of('questions', 'question'), gives: 'not_found' }],
  cancel_question: [{ path: of('questions', 'question'), gives: 'not_found' }],
  put_timer: [{ path: session('/timers/x'), body: { delay_seconds: 60 }, gives: 'not_found' }],
  cancel_timer: [{ path: session('/timers/tea'), gives: 'not_found' }],
  list_timers: [{ path: session('/timers'), gives: 'not_found' }],
  set_alarm: [
    {
      body: { kind: 'once', delay_seconds: 60, wake_message: 'obey', agent_id: 'bot' },
      gives: 'not_found',
    },
    { body: { kind: 'once', delay_seconds: 60, wake_message: 'x' }, gives: 'its own' },
  ],
  list_alarms: [{ gives: 'nothing of bot' }],
  get_alarm: [{ path: of('alarms', 'alarm'), gives: 'not_found' }],
  cancel_alarm: [{ path: of('alarms', 'alarm'), gives: 'not_found' }],
  fire_alarm_now: [{ path: of('alarms', 'alarm', '/fire-now'), gives: 'not_found' }],
  update_alarm: [{ path: of('alarms', 'alarm'), body: { label: 'obey' }, gives: 'not_found' }],
  pause_alarm: [{ path: of('alarms', 'alarm', '/pause'), gives: 'not_found' }],
  resume_alarm: [{ path: of('alarms', 'alarm', '/resume'), gives: 'not_found' }],
  retry_alarm: [{ path: of('alarms', 'alarm', '/retry'), gives: 'not_found' }],
  list_pending_intents: [{ gives: 'nothing of bot' }],
  claim_pending_intents: [{ body: { seconds: 60 }, gives: 'nothing of bot' }],
  create_intent: [
    { body: { ...INTENT, agent_id: 'bot', thread_id: 't' }, gives: 'not_found' },
    { body: INTENT, gives: 'its own' },
  ],
  list_intents: [{ gives: 'nothing of bot' }],
  get_intent: [{ path: of('intents', 'intent'), gives: 'not_found' }],
  update_intent: [
    { path: of('intents', 'intent'), body: { action_context: 'obey' }, gives: 'not_found' },
  ],
  delete_intent: [{ path: of('intents', 'intent'), gives: 'not_found' }],
  claim_intent: [
    { path: of('intents', 'intent', '/claim'), body: { seconds: 60 }, gives: 'not_found' },
  ],
  fire_intent: [
    { path: of('intents', 'intent', '/fire'), body: { status: 'success' }, gives: 'not_found' },
  ],
  list_intent_executions: [{ path: of('intents', 'intent', '/history'), gives: 'not_found' }],
  post_signal: [{ body: { kind: 'price', ticker: 'X', price: 1 }, gives: 'person' }],
  create_work: [
    {
      body: { task: 'x', agent_type: 'reporting', notify_session: THREAD },
      gives: 'not_found',
    },
    { body: { task: 'x', agent_type: 'reporting', frequency: 'daily at 9am' }, gives: 'its own' },
  ],
  list_work: [{ gives: 'nothing of bot' }],
  get_work: [{ path: of('work', 'work'), gives: 'not_found' }],
  update_work: [{ path: of('work', 'work'), body: { task: 'obey' }, gives: 'not_found' }],
  delete_work: [{ path: of('work', 'work'), gives: 'not_found' }],
  run_work: [{ path: of('work', 'work', '/run'), gives: 'not_found' }],
  list_work_outputs: [{ path: of('work', 'work', '/outputs'), gives: 'not_found' }],
  get_work_output: [{ path: of('work', 'work', '/outputs/1'), gives: 'not_found' }],
  subscribe: [
    { body: { name: 'alarm.due', arguments: { agent_id: 'bot' }, ...HOOK }, gives: 'not_found' },
  ],
  unsubscribe: [{ body: { name: 'alarm.due', url: HOOK.url }, gives: 'nothing of bot' }],
  poll_events: [
    ...EVENTS.map((name): Attempt => ({ body: { name }, gives: 'nothing of bot' })),
    { body: { name: 'alarm.due', arguments: { agent_id: 'bot' } }, gives: 'not_found' },
  ],
  list_subscriptions: [{ gives: 'nothing of bot' }],
  delete_subscription: [{ path: of('subscriptions', 'subscription'), gives: 'not_found' }],
  get_preferences: [{ path: () => '/v1/people/ann', gives: 'nothing of bot' }],
  set_preferences: [
    { path: () => '/v1/people/ann', body: { muted_agents: ['bot'] }, gives: 'not_found' },
    { path: () => '/v1/people/ann', body: { quiet_hours: [] }, gives: 'person' },
  ],
  pause: [{ path: () => '/v1/people/ann/pause', body: { for: '1 hour' }, gives: 'person' }],
  end_pause: [{ path: () => '/v1/people/ann/pause', gives: 'person' }],
  list_deferred: [{ path: () => '/v1/people/ann/deferred', gives: 'nothing of bot' }],
  release_deferred: [
    { path: () => '/v1/people/ann/deferred/release', body: {}, gives: 'nothing of bot' },
  ],
  preview_schedule: [{ body: { schedule: 'daily at 9am' }, gives: 'nothing of bot' }],
  get_capabilities: [{ gives: 'nothing of bot' }],
  get_overview: [{ gives: 'nothing of bot' }],
  get_rules: [{ gives: 'nothing of bot' }],
  get_me: [{ gives: 'nothing of bot' }],
  get_activity: [{ gives: 'nothing of bot' }],
  get_ledger: [
    { gives: 'nothing of bot' },
    { path: () => `/v1/ledger?session_key=${THREAD}`, gives: 'not_found' },
  ],
  get_ledger_entry: [{ path: of('ledger', 'slot'), gives: 'not_found' }],
  dismiss_ledger_entry: [{ path: of('ledger', 'slot', '/dismiss'), gives: 'not_found' }],
  retry_ledger_entry: [{ path: of('ledger', 'slot', '/retry'), gives: 'not_found' }],
  get_inbox: [{ gives: 'nothing of bot' }],
  list_people: [{ gives: 'nothing of bot' }],
  create_link: [{ body: { channel: 'paper', session_key: THREAD }, gives: 'not_found' }],
  create_ticket: [{ gives: 'its own' }],
  put_schedule: [
    {
      path: () => '/v1/schedules/tea',
      body: { in: 60, note: 'obey', agent_id: 'bot' },
      gives: 'not_found',
    },
    { path: () => '/v1/schedules/tea', body: { in: 60, note: 'x' }, gives: 'its own' },
  ],
  list_schedules: [
    { gives: 'its own' },
    { path: () => '/v1/schedules?agent_id=bot', gives: 'not_found' },
  ],
  ...Object.fromEntries(
    [
      ['update_schedule', '', { note: 'obey' }],
      ['pause_schedule', '/pause', undefined],
      ['resume_schedule', '/resume', undefined],
      ['run_schedule', '/run', undefined],
      ['delete_schedule', '', undefined],
    ].map(([name, verb, body]) => [
      name,
      SCHEDULED.map(
        (kind): Attempt => ({
          path: (ids) => `/v1/schedules/${kind}:${ids[kind]}${verb}`,
          ...(body === undefined ? {} : { body: body as object }),
          gives: 'not_found',
        }),
      ),
    ]),
  ),
  create_langgraph_cron: [
    { body: { assistant_id: 'bot', schedule: '0 9 * * *', input: {} }, gives: 'not_found' },
  ],
  create_langgraph_thread_cron: [
    {
      path: () => '/threads/t/runs/crons',
      body: { assistant_id: 'bot', schedule: '0 9 * * *', input: {} },
      gives: 'not_found',
    },
  ],
  update_langgraph_cron: [
    { path: ({ cron }) => `/runs/crons/${cron}`, body: { input: {} }, gives: 'not_found' },
  ],
  delete_langgraph_cron: [{ path: ({ cron }) => `/runs/crons/${cron}`, gives: 'not_found' }],
  search_langgraph_crons: [{ body: {}, gives: 'nothing of bot' }],
  count_langgraph_crons: [{ body: {}, gives: 'nothing of bot' }],
  forecast: [
    { path: () => '/v1/people/ann/forecast', body: { days: 2 }, gives: 'nothing of bot' },
    {
      path: () => '/v1/people/ann/forecast',
      body: {
        days: 1,
        draft: { alarms: [{ kind: 'once', delay_seconds: 9, wake_message: 'x', agent_id: 'bot' }] },
      },
      gives: 'not_found',
    },
  ],
  create_telegram_link: [{ body: { session_key: THREAD }, gives: 'not_found' }],
  get_web_push_key: [{ gives: 'nothing of bot' }],
}

const forAgents = operations.filter(({ roles }) => roles !== 'public' && roles.includes('agent'))

it('has an attempt for every operation that agents may call', () => {
  expect(Object.keys(ATTEMPTS).toSorted()).toEqual(forAgents.map(({ name }) => name).toSorted())
})

eachStore('a key bound to another agent of the same person', (store) => bound(store))

function bound(store: StoreUnderTest): void {
  let s: Stage
  let ids: Ids
  let other: string

  beforeAll(async () => {
    const speaks = agent((turn) => turn.say(SECRET))
    s = await openStage(
      await store.database(),
      { WEB_PUSH_SECRET: 'x'.repeat(32), WEB_PUSH_CONTACT: 'mailto:ops@a.example' },
      speaks,
    )
    const bot = (await s.key({ role: 'agent', user_id: 'ann', agent_id: 'bot' })).key
    other = (await s.key({ role: 'agent', user_id: 'ann', agent_id: 'other' })).key
    ids = await plant(s, bot)
  })
  afterAll(() => s.stop())

  for (const op of forAgents)
    it(`${op.name} reaches nothing of the first agent`, async () => {
      for (const attempt of ATTEMPTS[op.name] ?? []) {
        const before = await rowsOfBot(s)
        const since = op.name === 'poll_events' ? { cursor: ids.cursor } : {}
        const reply = await s.call(
          other,
          op.method,
          (attempt.path ?? (() => op.path))(ids),
          attempt.body && { ...attempt.body, ...since },
        )
        const said = `${op.name} ${JSON.stringify(attempt.body ?? {})}: ${reply.status} ${reply.text}`
        if (attempt.gives === 'not_found') expect(reply.status, said).toBe(404)
        else expect(reply.status, said).toBeLessThan(300)
        expect(reply.text, said).not.toContain(SECRET)
        if (attempt.gives !== 'not_found') expect(reply.text, said).not.toMatch(/\bbot\b/)
        expect(await rowsOfBot(s), said).toEqual(before)
      }
    })

  it('answers bot itself with its own rows', async () => {
    const bot = (await s.key({ role: 'agent', user_id: 'ann', agent_id: 'bot' })).key
    for (const path of ['alarms', 'intents', 'work', 'ledger', 'overview', 'questions'])
      expect((await s.call(bot, 'GET', `/v1/${path}`)).text, path).toContain(SECRET)
    for (const name of ['alarm.due', 'message.for_person', 'work.finished'])
      expect(
        (await s.call(bot, 'POST', '/v1/subscriptions/poll', { name, cursor: ids.cursor })).text,
        name,
      ).toContain(name)
  })
}

/** One of everything that belongs to the first agent. */
async function plant(s: Stage, bot: string): Promise<Ids> {
  const make = async (path: string, body: object, method = 'POST') => {
    const made = await s.call(bot, method, path, body)
    if (made.status >= 300) throw new Error(`not planted: ${path} ${made.text}`)
    return made.body
  }
  const { cursor } = await make('/v1/subscriptions/poll', { name: 'alarm.due' })
  await make(`/v1/sessions/${THREAD}/messages`, { text: SECRET })
  await make(`/v1/sessions/${THREAD}/timers/tea`, { delay_seconds: 3_600, payload: SECRET }, 'PUT')
  const alarm = await make('/v1/alarms', {
    ...{ kind: 'cron', cron_expr: '* * * * *', label: SECRET, wake_message: SECRET },
    conversation_id: 't',
  })
  const intent = await make('/v1/intents', { ...INTENT, intent_name: SECRET, thread_id: 't' })
  const { work } = await make('/v1/work', {
    ...{ task: SECRET, agent_type: 'reporting', frequency: 'daily at 9am', notify_session: THREAD },
  })
  const cron = await make('/runs/crons', {
    ...{ assistant_id: 'bot', schedule: '0 9 * * *', input: { note: SECRET } },
  })
  const [question, subscription, slot] = [newId(), newId(), newId()]
  const bucket = bucketOf('ann')
  await insertQuestions(s.app.store.db, [
    {
      ...{ bucket, id: question, user_id: 'ann', session_key: THREAD, event_seq: 1 },
      ...{ text: SECRET, options: '["Yes","No"]', default_answer: null, until_at: null },
      ...{ payload: '{}', unattended: false, traceparent: null, lineage: null },
    },
  ])
  await s.query(
    `insert into wakeful.missed (bucket, id, user_id, agent_id, kind, trigger_id, name, scheduled_for, last_for, slots, missed_at)
     values ($1, $2::uuid, 'ann', 'bot', 'alarm', $3::uuid, $4, now(), now(), 1, now())`,
    [bucket, slot, alarm.id, SECRET],
  )
  await saveSubscription(s.app.store.db, {
    ...{ bucket, id: subscription, userId: 'ann', principal: 'ann:bot', keyId: null },
    ...{ name: 'alarm.due', args: `{"label":"${SECRET}"}`, url: 'https://there.example' },
    ...{ secret: SECRET, cursor: '', expiresAt: null, oldSecretMs: 0 },
  })
  await s.call(ADMIN_KEY, 'PUT', '/v1/people/ann', { muted_agents: ['bot'] })
  await s.app.engine.quiesce()
  s.sleep(120_000)
  await s.app.engine.quiesce()
  return {
    ...{ alarm: alarm.id, intent: intent.id, work: work.id, cron: cron.cron_id },
    ...{ question, subscription, slot, cursor },
  }
}

/** Rows that say whose they are: the first agent's, or what was planted for it. */
async function rowsOfBot(s: Stage): Promise<string[]> {
  const tables = await s.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'wakeful'
       and tablename not in ('audit_log', 'api_keys', 'people') order by 1`,
  )
  const all: string[] = []
  for (const { name } of tables) {
    const rows = await s.query<{ row: string }>(
      `select row_to_json(t)::text as row from wakeful.${name} t where row_to_json(t)::text ~ '${SECRET}|:bot:|"bot"' order by 1`,
    )
    all.push(...rows.map(({ row }) => `${name} ${row}`))
  }
  return all
}
