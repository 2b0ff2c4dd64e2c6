/** The Python worker of the examples, written against the routes alone, through a whole day of intents. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { call, type Loose } from '../setup/http.ts'
import { PYTHON } from '../setup/python.ts'
import { eachStore, oneStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const WORKER = fileURLToPath(new URL('../../examples/outside-worker/worker.py', import.meta.url))
const MINUTE = 60_000
const DAY_START = '2026-01-01T00:00:00Z'
const STEP = 30 * MINUTE

/** The world as a file says it is, so that a test can move it on. */
const FACTS = `
import json, os, sys
STATE = json.load(open(os.path.join(os.path.dirname(__file__), "state.json")))

def price(ticker):
    if ticker == "BROKEN":
        raise RuntimeError("no quote")
    return STATE["prices"].get(ticker)

def silent_hours(user_id):
    return STATE["silent_hours"]

def texts(kind):
    return STATE["texts"].get(kind, [])

def minutes_to_next_entry(user_id):
    return STATE["minutes"]

def gate(intent):
    if STATE["quiet_until"] and intent["action_priority"] == "low":
        return {"allowed": False, "defer_until": STATE["quiet_until"]}
    return {"allowed": True}

def deliver(intent, seen):
    print(intent["intent_name"], flush=True)
    return "msg-" + intent["id"][:8], intent["action_context"]
`

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wakeful-worker-'))
  writeFileSync(join(folder, 'facts.py'), FACTS)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function see(state: object): void {
  const quiet = { prices: {}, silent_hours: null, texts: {}, minutes: null, quiet_until: null }
  writeFileSync(join(folder, 'state.json'), JSON.stringify({ ...quiet, ...state }))
}

/** One poll. Answers with the names it delivered. */
function poll(url: string, ...more: string[]): Promise<string[]> {
  const args = ['-B', WORKER, '--once', '--url', url, '--facts', join(folder, 'facts.py'), ...more]
  return new Promise((done, fail) => {
    execFile(PYTHON, args, (error, out, err) => {
      if (error !== null) fail(new Error(`${error.message}\n${err}`))
      else done(out.split('\n').filter((line) => line !== ''))
    })
  })
}

/** What the world is like at this hour of the day. */
function at(hour: number): object {
  const dip = hour >= 10 && hour < 12
  return {
    prices: { NVDA: dip ? 125 : 140 },
    silent_hours: hour < 9 ? hour : hour - 9,
    texts: hour === 15 ? { news: ['The Fed cuts rates, again'] } : { news: ['Federal holiday'] },
    minutes: hour === 16.5 ? 10 : 90,
    quiet_until: hour < 7 ? '2026-01-01T07:00:00Z' : null,
  }
}

const DAY: Record<string, Loose> = {
  hourly: { trigger_type: 'interval', trigger_schedule: { interval_minutes: 60 } },
  twice: { trigger_type: 'cron', trigger_schedule: { cron: '0 9,18 * * *' } },
  early: {
    trigger_type: 'cron',
    trigger_schedule: { cron: '0 6 * * *' },
    action_priority: 'low',
  },
  once: { trigger_type: 'once', trigger_schedule: { datetime: '2026-01-01T14:10:00Z' } },
  dip: {
    trigger_type: 'price',
    trigger_schedule: { check_interval_minutes: 60 },
    trigger_condition: { ticker: 'NVDA', operator: '<', value: 130 },
  },
  broken: {
    trigger_type: 'price',
    trigger_condition: { ticker: 'BROKEN', operator: '<', value: 1 },
    expires_at: '2026-01-01T02:00:00Z',
  },
  silent: {
    trigger_type: 'silence',
    trigger_schedule: { check_interval_minutes: 720 },
    trigger_condition: { threshold_hours: 8 },
  },
  rates: { trigger_type: 'news', trigger_condition: { keywords: ['fed', 'ECB'] } },
  meeting: { trigger_type: 'calendar', trigger_condition: { value: 15 }, max_executions: 1 },
}

// A day is some fifty starts of Python; what differs between the stores is held by the routes' own tests.
oneStore('the example worker', (store) => {
  it.skipIf(PYTHON === '')('runs a whole day of intents', async () => {
    const w = await world(store, { bot: () => undefined }, { startAt: DAY_START })
    const url = await w.listen()
    const ids: Record<string, string> = {}
    for (const [name, body] of Object.entries(DAY)) {
      const made = await call(`${url}/v1/intents`, 'POST', {
        user_id: 'ann',
        intent_name: name,
        action_context: `about ${name}`,
        ...body,
      })
      expect(made.status, made.text).toBe(201)
      ids[name] = made.body.id
    }
    const said: Record<string, string[]> = {}
    for (let hour = 0; hour <= 24; hour += 0.5) {
      see(at(hour))
      for (const name of await poll(url)) {
        said[name] ??= []
        said[name].push(w.now().toISOString().slice(11, 16))
      }
      await w.advanceBy(STEP)
    }
    expect(said).toEqual({
      hourly: [
        ...Array.from({ length: 23 }, (_, n) => `${String(n + 1).padStart(2, '0')}:00`),
        '00:00',
      ],
      twice: ['09:00', '18:00'],
      early: ['07:00'],
      once: ['14:30'],
      dip: ['10:00', '11:00'],
      silent: ['08:00', '20:00'],
      rates: ['15:00'],
      meeting: ['16:30'],
    })
    const counts = await w.query<Loose>(
      `select i.intent_name as name, i.enabled, e.status, count(*)::int as n
       from wakeful.intent_executions e join wakeful.scheduled_intents i on i.bucket = e.bucket and i.id = e.intent_id
       group by 1, 2, 3 order by 1, 3`,
    )
    const tally = (name: string) =>
      Object.fromEntries(
        counts.filter((each) => each.name === name).map((each) => [each.status, each.n]),
      )
    expect(tally('early')).toEqual({ gate_blocked: 1, success: 1 })
    expect(tally('dip')).toEqual({ success: 2, condition_not_met: 45 })
    // Not served once expired: 00:00 to 01:30.
    expect(tally('broken')).toEqual({ failed: 4 })
    expect(counts.find((each) => each.name === 'once')).toMatchObject({ enabled: false, n: 1 })
    expect(tally('meeting').success).toBe(1)
    const { body } = await call(`${url}/v1/intents/${ids.broken}`, 'GET')
    expect(body.last_execution_error).toBe('RuntimeError: no quote')
    const shown = await call(`${url}/v1/intents/${ids.dip}/history?limit=100`, 'GET')
    const fired = shown.body.filter((each: Loose) => each.status === 'success')
    expect(fired[0]).toMatchObject({
      trigger_data: { ticker: 'NVDA', price: 125 },
      gate_result: { allowed: true },
      message_id: `msg-${ids.dip?.slice(0, 8)}`,
      message_preview: 'about dip',
    })
  })
})

eachStore('the example worker', (store) => {
  it.skipIf(PYTHON === '')('two workers with claims share what is due', async () => {
    const w = await world(store, { bot: () => undefined }, { startAt: DAY_START })
    const url = await w.listen()
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`)
    for (const intent_name of names)
      await call(`${url}/v1/intents`, 'POST', {
        user_id: 'ann',
        intent_name,
        action_context: 'x',
        ...DAY.dip,
      })
    see(at(10))
    const [one = [], two = []] = await Promise.all([
      poll(url, '--claim', '60'),
      poll(url, '--claim', '60'),
    ])
    expect([...one, ...two].sort()).toEqual([...names].sort())
    const rows = await w.query(
      'select 1 from wakeful.intent_executions where claim_token is not null',
    )
    expect(rows).toHaveLength(20)
  })
})
