/** `/metrics`: each metric is there, moves when it should, and is written as Prometheus reads it. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { createMeter } from '../../src/observe/meter.ts'
import { call } from '../setup/http.ts'
import { receiver, type Stage, stage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { hear } from './collector.ts'

interface Sample {
  readonly name: string
  readonly labels: Record<string, string>
  readonly value: number
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/g

/** Reads the text, and complains as promtool would. */
function parse(text: string): {
  samples: Sample[]
  families: Map<string, string>
  wrong: string[]
} {
  const families = new Map<string, string>()
  const helped = new Set<string>()
  const seen = new Set<string>()
  const samples: Sample[] = []
  const wrong: string[] = []
  if (!text.endsWith('\n')) wrong.push('the last line has no end')
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, kind, about = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (helped.has(about)) wrong.push(`${about} is explained twice`)
      helped.add(about)
    } else if (kind === 'TYPE') {
      if (families.has(about)) wrong.push(`${about} has two types`)
      families.set(about, rest)
    } else {
      const [, name = '', inner = '', value = ''] = LINE.exec(line) ?? []
      const labels = Object.fromEntries([...inner.matchAll(LABEL)].map((m) => [m[1], m[2]]))
      // A gauge without a sample yet says NaN, in any case of letters.
      if (name === '' || !(/^nan$/i.test(value) || Number(value.replace('Inf', 'Infinity')) >= 0))
        wrong.push(`not a sample: ${line}`)
      if (inner.replace(LABEL, '') !== '') wrong.push(`not labels: ${line}`)
      if (seen.has(`${name}{${inner}}`)) wrong.push(`told twice: ${line}`)
      seen.add(`${name}{${inner}}`)
      samples.push({ name, labels, value: Number(value.replace('Inf', 'Infinity')) })
    }
  }
  for (const [name, type] of families) {
    if (!helped.has(name)) wrong.push(`${name} is not explained`)
    if (!name.startsWith('wakeful_')) continue
    if ((type === 'counter') !== name.endsWith('_total')) wrong.push(`${name} is a ${type}`)
    if (/_(ms|milliseconds|minutes|kb)(_|$)/.test(name)) wrong.push(`${name} has an odd unit`)
  }
  return { samples, families, wrong }
}

async function scrape(url: string) {
  const answer = await call(`${url}/metrics`, 'GET')
  expect(answer.headers.get('content-type')).toContain('version=0.0.4')
  const { samples, families, wrong } = parse(answer.text)
  expect(wrong).toEqual([])
  const sum = (name: string, labels: Record<string, string> = {}) =>
    samples
      .filter((each) => each.name === name)
      .filter((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value))
      .reduce((total, { value }) => total + value, 0)
  return { samples, families, sum, text: answer.text }
}

/** Every kind of thing there is to count happens here at least once. */
async function eventful(s: Stage, hook: { url: string }): Promise<void> {
  expect(hook.url).toContain('http')
  await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hello' })
  await hear(s.url, 'ann:bot:t', () => s.settle())
  for (const n of [1, 2, 3]) {
    await s.call('PUT', `/v1/sessions/ann:bot:t/timers/t${n}`, { delay_seconds: n })
  }
  await s.set({ kind: 'once', delay_seconds: 5 })
  await s.call('POST', '/v1/sessions/ann:sour:t/messages', { text: 'hello' })
  await s.advanceBy(600_000)
}

const agents = {
  bot: (turn: { say(text: string): void }) => turn.say('hello'),
  sour: () => {
    throw new Error('no')
  },
}

eachStore('metrics', (store) => {
  it('exist and move', async () => {
    const hook = await receiver()
    hook.answer = (_, response) => response.writeHead(hook.received.length === 1 ? 500 : 204).end()
    const env = { WAKEFUL_WAKE_URL: hook.url }
    const s = await stage(await store.database(), { agents, env })
    const before = await scrape(s.url)
    await eventful(s, hook)
    const after = await scrape(s.url)
    const moved = (name: string, labels: Record<string, string>, by: number) =>
      expect([name, labels, after.sum(name, labels) - before.sum(name, labels)]).toEqual([
        name,
        labels,
        by,
      ])
    moved('wakeful_promoted_total', { trigger: 'timer' }, 3)
    moved('wakeful_promoted_total', { trigger: 'alarm' }, 2)
    // Each row, not only the worst of its batch.
    moved('wakeful_lateness_seconds_count', { trigger: 'timer' }, 3)
    moved('wakeful_lateness_seconds_count', { trigger: 'alarm' }, 2)
    moved('wakeful_handler_lateness_seconds_count', { trigger: 'timer' }, 3)
    moved('wakeful_event_wait_seconds_count', { type: 'user_message' }, 2)
    moved('wakeful_turns_total', { agent: 'bot', status: 'committed' }, 4)
    moved('wakeful_turns_total', { agent: 'sour', status: 'retrying' }, 3)
    moved('wakeful_turns_total', { agent: 'sour', status: 'failed' }, 1)
    moved('wakeful_turn_seconds_count', { agent: 'bot' }, 4)
    moved('wakeful_retries_total', { of: 'turn' }, 3)
    moved('wakeful_retries_total', { of: 'alarm' }, 1)
    moved('wakeful_verdicts_total', { rule: 'within_limits' }, 1)
    moved('wakeful_verdicts_total', { rule: 'cooldown_active' }, 2)
    moved('wakeful_notes_total', { rule: 'cooldown_active' }, 2)
    moved('wakeful_deliveries_total', { channel: 'websocket', result: 'sent' }, 1)
    moved('wakeful_deliveries_total', { channel: 'websocket', result: 'acknowledged' }, 1)
    moved('wakeful_deliveries_total', { channel: 'webhook', result: 'failed' }, 1)
    moved('wakeful_deliveries_total', { channel: 'webhook', result: 'taken' }, 1)
    moved('wakeful_delivery_seconds_count', { channel: 'webhook' }, 2)
    moved('wakeful_operations_total', { operation: 'post_message', status: '202' }, 2)
    moved('wakeful_operation_seconds_count', { operation: 'set_alarm' }, 1)
    for (const kind of ['append', 'alarms', 'turns', 'receipts', 'wakes'])
      expect(after.sum('wakeful_group_commit_size_count', { kind })).toBeGreaterThan(0)
    expect(after.sum('wakeful_pool_connections')).toBeGreaterThan(0)
    const tables = after.samples.filter(({ name }) => name === 'wakeful_due_lag_seconds')
    expect(tables.map(({ labels }) => labels.table)).toEqual(
      expect.arrayContaining(['sessions', 'timers', 'alarms', 'wakes']),
    )
    for (const name of [
      'wakeful_sockets',
      'wakeful_turns_running',
      'wakeful_event_loop_lag_seconds',
    ])
      expect(after.families.get(name)).toBe('gauge')
    // Nobody's name is in a label.
    expect(after.text).not.toMatch(/"(ann|local)[":]/)
    await s.stop()
  })

  it('tell how deep the outbox is, read at most every five seconds', async () => {
    const s = await stage(await store.database(), { agents })
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hello' })
    await s.settle()
    s.sleep(30_000)
    const first = await scrape(s.url)
    const waiting = { status: 'pending' }
    expect(first.sum('wakeful_outbox_messages', waiting)).toBe(1)
    expect(first.sum('wakeful_outbox_oldest_seconds', waiting)).toBeCloseTo(30, 0)
    await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hello' })
    await s.settle()
    expect((await scrape(s.url)).sum('wakeful_outbox_messages', waiting)).toBe(1)
    await s.stop()
  })
})

it('what happens rarely is counted, too', async () => {
  const { meter, registry, watch, close } = createMeter(pino({ level: 'silent' }))
  let reads = 0
  const read = async () => {
    reads++
    throw new Error('the database is unreachable')
  }
  const shard = { labels: {}, pools: () => [], dueLagMs: read, outbox: read, eventsWaiting: read }
  watch({ running: () => 0, sockets: () => 0, shards: [shard] })
  meter.leasesLost(2)
  meter.polled('prices', 'ok', 20)
  meter.polled('prices', 'failed', 30)
  meter.trouble('notifier', new Error('gone'))
  const text = await registry.metrics()
  close()
  const { samples, wrong } = parse(text)
  expect(wrong).toEqual([])
  const value = (name: string, label = '') =>
    samples.find((each) => each.name === name && Object.values(each.labels).join() === label)?.value
  expect(value('wakeful_leases_lost_total')).toBe(2)
  expect(value('wakeful_source_polls_total', 'prices,failed')).toBe(1)
  expect(value('wakeful_source_poll_seconds_count', 'prices')).toBe(2)
  expect(value('wakeful_trouble_total', 'notifier')).toBe(1)
  // A database that is away takes its own gauges with it, and nothing else.
  expect(reads).toBeGreaterThan(0)
  expect(samples.some(({ name }) => /due_lag|outbox|events_waiting/.test(name))).toBe(false)
})

const file = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../docs/operations/${name}`, import.meta.url)), 'utf8')

/** What a query names and is no function or label. */
function metricsOf(query: string): string[] {
  return query.match(/\b(?:wakeful|nodejs|process)_[a-z0-9_]+/g) ?? []
}

interface Panel {
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string }[]
}

describe('the operator’s files', () => {
  it('name only metrics that exist, and every alert is explained', async () => {
    const s = await stage('memory:')
    const { families } = await scrape(s.url)
    await s.stop()
    const exists = (name: string) =>
      families.has(name) || families.has(name.replace(/_(bucket|count|sum)$/, ''))
    const dashboard = JSON.parse(file('grafana-dashboard.json')) as { panels: Panel[] }
    const queries = dashboard.panels.flatMap(
      ({ targets }) => targets?.map(({ expr }) => expr) ?? [],
    )
    expect(queries.length).toBeGreaterThan(15)
    const alerts = file('alerts.yml')
    const rules = [...alerts.matchAll(/- alert: (\w+)\n(?: {8}.*\n)+/g)]
    expect(rules.length).toBeGreaterThan(7)
    expect(rules).toHaveLength(alerts.match(/- alert:/g)?.length ?? 0)
    const used = [...queries, ...rules.map(([rule]) => /expr: (.*)/.exec(rule)?.[1] ?? '')]
    for (const query of used) {
      expect(metricsOf(query).length).toBeGreaterThan(0)
      expect(metricsOf(query).filter((name) => !exists(name))).toEqual([])
      expect(query.split('(').length).toBe(query.split(')').length)
    }
    const guide = file('README.md')
    for (const [rule, name] of rules) {
      expect(rule).toMatch(/expr: .+\n(?:.*\n)*? {8}for: \d+[smh]\n/)
      expect(rule).toMatch(/severity: (page|warn)\n/)
      expect(rule).toMatch(/summary: .+\n/)
      expect(guide).toContain(`### ${name}\n`)
    }
    // Each metric of ours is explained to the reader, too.
    const ours = [...families.keys()].filter((name) => name.startsWith('wakeful_'))
    expect(ours.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
  })
})
