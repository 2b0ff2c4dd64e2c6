/**
 * contract: the description of the API has an example of every operation, taken from a real answer. `UPDATE_EXAMPLES=1` writes them
 * to docs/examples.json; without it the test compares them with what is asked here and with the schemas.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agent } from '../../src/agents/function.ts'
import type { Turn } from '../../src/agents/turn.ts'
import { operations } from '../../src/app/operations.ts'
import { TerminalError } from '../../src/core/errors.ts'
import { type Example, openApi } from '../../src/http/openapi.ts'
import { ROOT } from '../../src/root.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { call, type Loose } from '../setup/http.ts'
import { BotApi, TOKEN } from '../telegram/bot-api.ts'

const FILE = join(ROOT, 'docs/examples.json')
const SESSION = '/v1/sessions/ann:companion:main'
const HOUR_MS = 3_600_000

let world: TestWakeful
let bot: BotApi
let url = ''
/** Takes what subscriptions send, and echoes their challenge. */
const receiver = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => response.end(JSON.stringify({ challenge: JSON.parse(text).challenge })))
})
/** The answers of this run, by the name of the operation that was asked last. */
const answers = new Map<string, { example: Example; status: number }>()

/** Asks one operation, and keeps what it answered as its example. */
async function ask(name: string, path: string, body?: object): Promise<Loose> {
  const operation = operations.find((each) => each.name === name)
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  const reply = await call(`${url}${path}`, operation.method, body)
  const answer = reply.status === 204 ? undefined : (shown(reply.body) as Example['answer'])
  const example = { path, ...(body && { body: shown(body) as object }), ...(answer && { answer }) }
  answers.set(name, { example, status: reply.status })
  return reply.body
}

/** What is secret in an answer is shown as an ellipsis. */
function shown(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value).replaceAll(/(wk_[a-z]+_[0-9a-f]{32}_|whsec_)[\w+/=-]{16,}/g, '$1…'),
  )
}

/** Its question is what the operations on questions are shown with. */
function talk(turn: Turn): void {
  const { type, payload } = turn.event
  if (type === 'alarm' && payload.wake_message === 'fail') throw new TerminalError('no such file')
  if (type !== 'user_message') turn.silent('nothing to say')
  else if (!payload.text.startsWith('order')) turn.say('On it.')
  else
    turn.ask('Order 20 kg of flour?', {
      options: ['Yes', 'No'],
      default: 'No',
      until: 'in 2 hours',
    })
}

beforeAll(async () => {
  bot = (await BotApi.start()).keep()
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
  world = await testWakeful({
    agents: { companion: agent(talk) },
    channels: [{ name: 'pager', send: async ({ id }) => ({ type: 'sent', ids: [id] }) }],
    startAt: '2026-11-19T08:00:00Z',
    env: {
      TELEGRAM_BOT_TOKEN: TOKEN,
      TELEGRAM_API_ROOT: bot.root,
      WEB_PUSH_SECRET: 'only-for-examples-0123456789abcdef',
      WEB_PUSH_CONTACT: 'mailto:ops@example.com',
      WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
    },
  })
  url = await world.listen()
  await sessions()
  await schedules()
  await alarms()
  await hooks()
  await intents()
  await work()
  await people()
  await access()
  await others()
}, 60_000)
afterAll(async () => {
  await world.stop()
  await bot.stop()
  receiver.close()
})

async function sessions() {
  await ask('post_message', `${SESSION}/messages`, {
    text: 'remind me tomorrow at 9am to call Ben',
    timezone: 'Europe/Berlin',
  })
  await world.settle()
  await ask('post_tool_result', `${SESSION}/tool-results`, {
    tool_id: 'calendar',
    payload: { free: ['10:00', '14:30'] },
  })
  await ask('promise', `${SESSION}/promises`, {
    text: 'I will remind you tomorrow at 9.',
    schedule: 'tomorrow at 9am',
    wait_seconds: 0,
  })
  await ask('put_timer', `${SESSION}/timers/nudge`, { delay_seconds: 600, payload: { step: 1 } })
  await ask('list_timers', `${SESSION}/timers`)
  await ask('cancel_timer', `${SESSION}/timers/nudge`)
  await world.settle()
  await ask('list_sessions', '/v1/sessions')
  await ask('get_session', SESSION)
  await ask('list_events', `${SESSION}/events`)
  const { data } = await ask('list_effects', `${SESSION}/effects`)
  await ask('ack_messages', `${SESSION}/acks`, { ids: [data[0].id] })
  await ask('list_turns', `${SESSION}/turns`)
}

async function schedules() {
  await ask('preview_schedule', '/v1/schedules/preview', {
    schedule: 'every weekday at 8:30',
    timezone: 'Europe/Berlin',
    count: 3,
  })
  await ask('put_schedule', '/v1/schedules/plan', {
    user_id: 'ann',
    every: 'weekday at 8:30',
    note: 'plan the day',
    data: { list: 'work' },
  })
  await ask('list_schedules', '/v1/schedules?user_id=ann')
  await ask('update_schedule', '/v1/schedules/plan', { every: 'weekday at 9' })
  await ask('pause_schedule', '/v1/schedules/plan/pause')
  await ask('resume_schedule', '/v1/schedules/plan/resume')
  await ask('run_schedule', '/v1/schedules/plan/run')
  await world.settle()
  await ask('delete_schedule', '/v1/schedules/plan')
}

async function hooks() {
  await ask('put_hook', '/v1/hooks/shop', { user_id: 'ann' })
  await ask('list_hooks', '/v1/hooks')
  await ask('get_hook', '/v1/hooks/shop')
  await ask('delete_hook', '/v1/hooks/shop')
}

async function alarms() {
  const { id } = await ask('set_alarm', '/v1/alarms', {
    schedule: 'tomorrow at 9am',
    timezone: 'Europe/Berlin',
    agent_id: 'companion',
    conversation_id: 'main',
    wake_message: 'call Ben',
    payload: { phone: '+49 30 1234' },
  })
  await ask('list_alarms', '/v1/alarms?status=active')
  await ask('get_alarm', `/v1/alarms/${id}`)
  await ask('update_alarm', `/v1/alarms/${id}`, { schedule: 'tomorrow at 10am' })
  await ask('pause_alarm', `/v1/alarms/${id}/pause`)
  await ask('resume_alarm', `/v1/alarms/${id}/resume`)
  await ask('fire_alarm_now', `/v1/alarms/${id}/fire-now`)
  await world.settle()
  await ask('retry_alarm', `/v1/alarms/${id}/retry`)
  await world.settle()
  const other = await ask('set_alarm', '/v1/alarms', {
    schedule: 'every weekday at 8:30',
    timezone: 'Europe/Berlin',
    agent_id: 'companion',
    wake_message: 'plan the day',
  })
  await ask('cancel_alarm', `/v1/alarms/${other.id}`)
}

async function intents() {
  const { id } = await ask('create_intent', '/v1/intents', {
    user_id: 'ann',
    agent_id: 'companion',
    thread_id: 'main',
    intent_name: 'NVDA dip',
    trigger_type: 'price',
    trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
    action_context: 'tell me about the dip',
  })
  await ask('post_signal', '/v1/signals', { kind: 'price', ticker: 'NVDA', price: 128 })
  await world.settle()
  await ask('list_intents', '/v1/intents?user_id=ann')
  await ask('get_intent', `/v1/intents/${id}`)
  await ask('update_intent', `/v1/intents/${id}`, {
    trigger_condition: { ticker: 'NVDA', operator: '<', value: 120 },
  })
  // Without an agent it is for workers outside.
  const served = await call(`${url}/v1/intents`, 'POST', {
    user_id: 'ann',
    intent_name: 'daily look',
    trigger_type: 'cron',
    trigger_schedule: { cron: '0 9 * * *' },
    action_context: 'look at the market',
    timezone: 'UTC',
  })
  await world.advanceBy(2 * HOUR_MS)
  await ask('list_pending_intents', '/v1/intents/pending')
  await ask('claim_pending_intents', '/v1/intents/claims', { seconds: 60, limit: 1 })
  await world.advanceBy(60_000)
  const claim = await ask('claim_intent', `/v1/intents/${served.body.id}/claim`, { seconds: 60 })
  await ask('fire_intent', `/v1/intents/${served.body.id}/fire`, {
    status: 'success',
    message_preview: 'The market is calm.',
    claim_token: claim.claim_token,
  })
  await ask('list_intent_executions', `/v1/intents/${served.body.id}/history`)
  await ask('delete_intent', `/v1/intents/${id}`)
}

async function work() {
  const { work } = await ask('create_work', '/v1/work', {
    user_id: 'ann',
    task: 'What did my agents do?',
    agent_type: 'reporting',
    frequency: 'weekly on Monday at 8am',
    timezone: 'Europe/Berlin',
    parameters: { days: 7 },
  })
  await world.settle()
  await ask('list_work', '/v1/work')
  await ask('run_work', `/v1/work/${work.id}/run`)
  await world.settle()
  await ask('list_work_outputs', `/v1/work/${work.id}/outputs`)
  await ask('get_work_output', `/v1/work/${work.id}/outputs/1`)
  await ask('get_work', `/v1/work/${work.id}`)
  await ask('update_work', `/v1/work/${work.id}`, { frequency: 'every Friday at 5pm' })
  await ask('delete_work', `/v1/work/${work.id}`)
}

async function people() {
  await ask('set_preferences', '/v1/people/ann', {
    timezone: 'Europe/Berlin',
    quiet_hours: [{ from: '22:00', to: '07:30' }],
    most_unasked_per_day: 5,
  })
  await ask('get_preferences', '/v1/people/ann')
  await ask('pause', '/v1/people/ann/pause', { until: 'tomorrow at 9am' })
  await call(`${url}/v1/schedules/stretch`, 'PUT', {
    user_id: 'ann',
    in: '1 minute',
    note: 'stretch',
  })
  await world.advanceBy(120_000)
  await ask('list_deferred', '/v1/people/ann/deferred')
  await ask('release_deferred', '/v1/people/ann/deferred/release', {})
  await ask('end_pause', '/v1/people/ann/pause')
  await ask('forecast', '/v1/people/ann/forecast', { days: 2, limit: 3 })
  await call(`${url}${SESSION}/messages`, 'POST', { text: 'order flour' })
  await world.settle()
  const { data } = await ask('list_questions', '/v1/questions?user_id=ann')
  const [{ id }] = data
  await ask('get_question', `/v1/questions/${id}`)
  await ask('answer_question', `/v1/questions/${id}/answer`, { answer: 'Yes' })
  await call(`${url}${SESSION}/messages`, 'POST', { text: 'order sugar' })
  await world.settle()
  const open = await call(`${url}/v1/questions?user_id=ann&status=open`, 'GET')
  await ask('cancel_question', `/v1/questions/${open.body.data[0].id}`)
}

async function access() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex')
  const did = `did:matrix:ann:${key.slice(0, 16)}`
  const made = await ask('create_key', '/v1/keys', {
    role: 'agent',
    owner_did: did,
    agent_id: 'companion',
  })
  const { nonce, message } = await ask('create_challenge', '/v1/agent/auth/challenge', { did })
  const signature = sign(null, Buffer.from(message), privateKey).toString('hex')
  await ask('verify_challenge', '/v1/agent/auth/verify', {
    did,
    public_key: key,
    nonce,
    signature,
  })
  await ask('list_keys', '/v1/keys')
  await ask('revoke_key', `/v1/keys/${made.id}`)
  await ask('create_ticket', '/v1/tickets')
  await ask('get_me', '/v1/me')
  await ask('register_agent', '/v1/agents', {
    id: 'advisor',
    url: 'https://agents.example/turn',
    timeout_ms: 30_000,
  })
  await ask('list_agents', '/v1/agents')
  await ask('get_agent', '/v1/agents/advisor')
  await ask('update_agent', '/v1/agents/advisor', { enabled: false })
  await ask('remove_agent', '/v1/agents/advisor')
  const { id } = await ask('stop', '/v1/stops', {
    level: 'agent',
    target: 'companion',
    reason: 'it repeats itself',
  })
  await ask('list_stops', '/v1/stops')
  await ask('get_stop', `/v1/stops/${id}`)
  await ask('resume_stop', `/v1/stops/${id}/resume`)
  const again = await call(`${url}/v1/stops`, 'POST', { level: 'user', target: 'ann' })
  await ask('drop_stop', `/v1/stops/${again.body.id}/drop`)
  await ask('list_audit', '/v1/audit?limit=2')
}

async function others() {
  const { id } = await ask('create_link', '/v1/links', {
    channel: 'pager',
    session_key: 'ann:companion:main',
    address: '4711',
  })
  await ask('list_links', '/v1/links?user_id=ann')
  await ask('update_link', `/v1/links/${id}`, { first: true })
  await ask('test_link', `/v1/links/${id}/test`)
  await ask('delete_link', `/v1/links/${id}`)
  await ask('create_telegram_link', '/v1/telegram/links', { session_key: 'ann:companion:main' })
  await call(`${url}/v1/links`, 'POST', {
    channel: 'telegram',
    session_key: 'ann:companion:main',
    address: '7',
  })
  await ask('list_telegram_links', '/v1/telegram/links')
  await ask('delete_telegram_link', '/v1/telegram/links/ann:companion:main')
  await ask('get_web_push_key', '/v1/web-push/key')
  const hook = {
    name: 'alarm.due',
    arguments: { user_id: 'ann' },
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
  }
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  await ask('subscribe', '/v1/subscriptions', { ...hook, secret })
  const { data } = await ask('list_subscriptions', '/v1/subscriptions')
  await ask('poll_events', '/v1/subscriptions/poll', {
    name: 'alarm.due',
    arguments: { user_id: 'ann' },
  })
  await ask('unsubscribe', '/v1/subscriptions/end', hook)
  await call(`${url}/v1/subscriptions`, 'POST', { ...hook, secret })
  const left = await call(`${url}/v1/subscriptions`, 'GET')
  await ask('delete_subscription', `/v1/subscriptions/${(left.body.data[0] ?? data[0]).id}`)
  const cron = { schedule: '0 9 * * 1-5', timezone: 'Europe/Berlin', input: { topic: 'tea' } }
  await ask('create_langgraph_cron', '/runs/crons', { assistant_id: 'companion', ...cron })
  const made = await ask('create_langgraph_thread_cron', '/threads/main/runs/crons', {
    assistant_id: 'companion',
    ...cron,
  })
  await ask('update_langgraph_cron', `/runs/crons/${made.cron_id}`, { enabled: false })
  await ask('search_langgraph_crons', '/runs/crons/search', { assistant_id: 'companion' })
  await ask('count_langgraph_crons', '/runs/crons/count', { assistant_id: 'companion' })
  await ask('delete_langgraph_cron', `/runs/crons/${made.cron_id}`)
  await ask('get_capabilities', '/v1/capabilities')
  await ask('get_overview', '/v1/overview?user_id=ann')
  await ask('get_rules', '/v1/rules')
  await ask('get_activity', '/v1/activity?user_id=ann')
  await ask('get_ledger', '/v1/ledger?user_id=ann&limit=2')
  await call(`${url}/v1/schedules/clumsy`, 'PUT', { user_id: 'ann', in: 1, note: 'fail' })
  await world.advanceBy(HOUR_MS)
  await ask('get_inbox', '/v1/inbox?user_id=ann&limit=1')
  const failed = await call(`${url}/v1/ledger?user_id=ann&outcome=failed`, 'GET')
  const entry = `/v1/ledger/${failed.body.data[0].id}`
  await ask('get_ledger_entry', entry)
  await ask('retry_ledger_entry', `${entry}/retry`)
  await ask('dismiss_ledger_entry', `${entry}/dismiss`)
  await ask('list_people', '/v1/people')
  await ask('list_sources', '/v1/sources')
  await ask('examine', '/v1/doctor')
}

describe('contract: every operation has an example', () => {
  it('that it answers as it says', () => {
    const wrong = operations.flatMap(({ name, status }) => {
      const asked = answers.get(name)
      return asked?.status === status
        ? []
        : [`${name}: ${asked?.status} ${JSON.stringify(asked?.example.answer)}`]
    })
    expect(wrong).toEqual([])
  })

  it('that is the one of docs/examples.json, which fits the schemas', () => {
    const asked = Object.fromEntries([...answers].map(([name, { example }]) => [name, example]))
    if (process.env.UPDATE_EXAMPLES) writeFileSync(FILE, `${JSON.stringify(asked, null, 1)}\n`)
    const kept = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, Example>
    expect(Object.keys(kept).sort()).toEqual(operations.map(({ name }) => name).sort())
    for (const { name, output } of operations) {
      const { body: sent, answer } = kept[name] as Example
      expect(Object.keys(sent ?? {}), name).toEqual(Object.keys(asked[name]?.body ?? {}))
      if (output && answer) expect(output.safeParse(answer).error?.issues ?? [], name).toEqual([])
    }
  })

  it('that stands in the OpenAPI document, whose bodies have names that exist', () => {
    const examples = JSON.parse(readFileSync(FILE, 'utf8'))
    const { components, paths } = openApi(operations, '0', examples) as Loose
    const text = JSON.stringify({ components, paths })
    const named = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name)
    expect(named.filter((name) => !(String(name) in components.schemas))).toEqual([])
    expect(Object.keys(components.schemas)).toEqual(
      expect.arrayContaining(['Alarm', 'Intent', 'Work', 'Schedule', 'SetAlarmRequest']),
    )
    const { post } = paths['/v1/alarms']
    expect(post.requestBody.content['application/json']).toEqual({
      schema: { $ref: '#/components/schemas/SetAlarmRequest' },
      example: examples.set_alarm.body,
    })
    expect(post.responses[201].content['application/json'].example).toEqual(
      examples.set_alarm.answer,
    )
    const shapes = Object.keys(paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'))
    expect(new Set(shapes).size).toBe(shapes.length)
  })
})
