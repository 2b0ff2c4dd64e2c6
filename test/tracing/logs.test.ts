/** Log lines: one for each turn, delivery and block, with what is needed to find the rest, and without what was said. */
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { createLog, pretty } from '../../src/observe/log.ts'
import { call, type Loose } from '../setup/http.ts'
import { receiver } from '../setup/listening-app.ts'
import { databaseEnv, eachStore } from '../setup/stores.ts'
import { hear } from './collector.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const headers = { traceparent: `00-${TRACE}-b7ad6b7169203331-01` }
const PLANTED = 'the heron flies at dawn'
const TOKEN = 'planted-token-0123456789'
const ADMIN = 'planted-admin-key-0123456789-0123456789'

const open = new Set<App>()
afterEach(async () => {
  for (const app of open) await app.stop()
  open.clear()
})

async function listen(database: string, env: Record<string, string>, run: AgentFunction) {
  let now = new Date('2026-01-01T00:00:00Z')
  let text = ''
  const config = readConfig({
    ...databaseEnv(database),
    PORT: '0',
    LOG_LEVEL: 'debug',
    WAKEFUL_AUTH: 'keys',
    WAKEFUL_ADMIN_KEY: ADMIN,
    WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true',
    ...env,
  })
  const out = {
    write(line: string) {
      text += line
    },
  }
  const app = await App.open({
    config,
    agents: new Map([['bot', agent(run)]]),
    log: createLog(config, out),
    now: () => now,
  })
  open.add(app)
  await app.start()
  const url = await app.listen()
  return {
    url,
    app,
    text: () => text,
    lines: () =>
      text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Loose])),
    ask: (method: string, path: string, body?: unknown) =>
      call(`${url}${path}`, method, body, { ...headers, authorization: `Bearer ${ADMIN}` }),
    advance: async (ms: number) => {
      now = new Date(now.getTime() + ms)
      await app.engine.quiesce()
    },
  }
}

eachStore('log lines', (store) => {
  it('tell each turn, delivery and block, and never what was said nor a secret', async () => {
    const hook = await receiver()
    const env = { WAKEFUL_WAKE_URL: hook.url, WAKEFUL_WAKE_TOKEN: TOKEN }
    const s = await listen(await store.database(), env, (turn) => {
      turn.say(PLANTED)
      if (turn.event.type !== 'user_message') turn.say(PLANTED)
    })
    const alarm = await s.ask('POST', '/v1/alarms', {
      ...{ kind: 'once', delay_seconds: 5, wake_message: PLANTED, agent_id: 'bot' },
      ...{ conversation_id: 'c', payload: { note: PLANTED } },
    })
    const wake = await s.ask('POST', '/v1/alarms', {
      ...{ kind: 'once', delay_seconds: 5, wake_message: PLANTED },
    })
    await s.ask('POST', '/v1/sessions/ann:bot:t/messages', { text: PLANTED })
    await s.advance(0)
    const timer = await s.ask('PUT', '/v1/sessions/ann:bot:t/timers/nudge', { delay_seconds: 5 })
    await s.advance(6_000)
    const lines = s.lines()
    const slot = '2026-01-01T00:00:05.000Z'
    const turns = lines.filter(({ msg }) => msg === 'turn committed')
    const own = { session_key: 'local:bot:c', trigger: 'alarm', trigger_id: alarm.body.id, slot }
    const of = (kind: string) => turns.find(({ trigger }) => trigger === kind)
    expect(turns).toHaveLength(3)
    expect(of('alarm')).toMatchObject({
      ...own,
      reason: 'promise',
      level: 'info',
      agent: 'bot',
      status: 'committed',
      checkpoint_id: expect.any(String),
      trace_id: TRACE,
    })
    const blocks = lines.filter(({ rule }) => rule === 'cooldown_active')
    expect(blocks).toHaveLength(1)
    expect(blocks[0]).toMatchObject({
      ...{ session_key: 'ann:bot:t', trigger: 'timer', trigger_id: timer.body.id, slot },
      ...{ reason: 'follow_up', checkpoint_id: of('timer').checkpoint_id, trace_id: TRACE },
    })
    const deliveries = lines.filter(({ msg }) => msg.startsWith('delivery'))
    expect(deliveries).toHaveLength(1)
    expect(deliveries[0]).toMatchObject({
      ...{ channel: 'webhook', result: 'taken', trigger_id: wake.body.id, slot, trace_id: TRACE },
      reason: 'promise',
    })
    await s.app.stop()
    expect(hook.received).toHaveLength(1)
    for (const secret of ['heron', TOKEN, ADMIN]) expect(s.text()).not.toContain(secret)
  })

  it('tell a delivery by socket, and what was said to who asks for it', async () => {
    const env = { LOG_CONTENT: 'true', WAKEFUL_AUTH: 'open', WAKEFUL_ADMIN_KEY: '' }
    const s = await listen(await store.database(), env, (turn) => turn.say('aye'))
    await s.ask('POST', '/v1/sessions/ann:bot:t/messages', { text: PLANTED })
    await hear(s.url, 'ann:bot:t', () => s.advance(0))
    const [line] = s.lines().filter(({ msg }) => msg === 'delivery acknowledged')
    expect(line).toMatchObject({
      ...{ channel: 'websocket', session_key: 'ann:bot:t', event_seq: 1, trigger: 'user_message' },
      reason: 'answer',
      ...{ id: expect.any(String), checkpoint_id: expect.any(String), trace_id: TRACE },
    })
    expect(s.text()).toContain('heron')
  })
})

describe('for people', () => {
  const line = (fields: object, level: 'info' | 'error' = 'info') => {
    let text = ''
    const out = { write: (each: string) => (text += each) }
    pino({ base: null, formatters: { level: (name) => ({ level: name }) } }, out)[level](
      fields,
      'turn done',
    )
    return text
  }

  it('a line is short, and has colours on a terminal only', () => {
    const shown = pretty(line({ session_key: 'a:b:c', ms: 3.1, note: 'two words' }), false)
    expect(shown).toMatch(/ info {2}turn done {2}session_key=a:b:c ms=3\.1 note="two words"\n$/)
    expect(shown).not.toContain('\x1b[')
    expect(pretty(line({ ms: 1 }, 'error'), true)).toContain('\x1b[31merror\x1b[0m')
  })

  it('what others wrote cannot steer the terminal, and a stack is kept readable', () => {
    const evil = pretty(line({ err: new Error('no\x1b[2J'), text: '\x1b]0;hi\x07' }), false)
    expect(evil).not.toContain('\x1b')
    expect(evil.split('\n').length).toBeGreaterThan(3)
  })

  it('LOG_FORMAT chooses, and credentials are hidden in both', () => {
    for (const format of ['json', 'pretty']) {
      let text = ''
      const out = { write: (each: string) => (text += each) }
      const log = createLog(readConfig({ LOG_FORMAT: format }), out, false)
      log.info({ token: 'abc-1', headers: { authorization: 'Bearer abc-1' } }, 'request')
      log.debug('not shown')
      expect(text.startsWith('{')).toBe(format === 'json')
      expect(text).toContain('[hidden]')
      expect(text).not.toContain('abc-1')
      expect(text).not.toContain('not shown')
    }
  })
})
