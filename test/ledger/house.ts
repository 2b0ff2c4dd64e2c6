/**
 * A house whose engine can die: an app for its doors and its store, and beside it engines of our own, one after the
 * other, with a recorder where the channel would be, one where the receiver would be, and one inside the agents. What the
 * recorders saw owes nothing to the tables.
 */

import { createHash } from 'node:crypto'
import { pino } from 'pino'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { WorkRunners } from '../../src/app/runtime.ts'
import { RetryableError, TerminalError } from '../../src/core/errors.ts'
import { bucketOf } from '../../src/core/session.ts'
import type { Attempt } from '../../src/features/alarms/rules.ts'
import { alarmTrigger, alarmWakes } from '../../src/features/alarms/trigger.ts'
import { intentTrigger } from '../../src/features/intents/trigger.ts'
import { deferredTrigger } from '../../src/features/people/deferred-trigger.ts'
import { timerTrigger } from '../../src/features/timers/trigger.ts'
import { workTrigger } from '../../src/features/work/trigger.ts'
import { callsOf } from '../../src/index.ts'
import type { Channel } from '../../src/kernel/channel.ts'
import { Engine, type EngineOptions } from '../../src/kernel/engine.ts'
import type { Moment, TestSignals } from '../../src/kernel/service.ts'
import { databaseEnv } from '../setup/stores.ts'
import { anyCall } from '../setup/worlds.ts'

export const START = Date.UTC(2026, 0, 1)
const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
/** Long enough that no heartbeat of a dead engine comes while a test runs. */
const LEASE_MS = 600_000
const LOOKS = 3
const NEVER = new Promise<never>(() => undefined)

export type Did = 'say' | 'silent' | 'fail' | 'terminal'

/** One run of an agent, an executor or a receiver over a slot. */
export interface Run {
  readonly did: Did
  readonly at: number
  /** The process came back from its commit. */
  committed: boolean
}

/** The same for everybody who asks: what is done at the nth run over a slot. */
export function behaviour(slot: string, run: number): Did {
  const byte = createHash('sha1').update(`${slot} ${run}`).digest()[0] ?? 0
  if (byte < 140) return 'say'
  if (byte < 175) return 'silent'
  return byte < 240 ? 'fail' : 'terminal'
}

export class Recorder implements Channel {
  readonly name = 'websocket'
  readonly runs = new Map<string, Run[]>()
  /** How often each slot's message arrived. */
  readonly heard = new Map<string, number>()
  readonly offline = new Set<string>()
  /** Of each session, how far it has heard. */
  readonly #sessions = new Map<string, number>()
  readonly #open = new Map<string, Run>()
  /** Where something may have been said, and how often to look there: to ask about thousands each time takes long. */
  readonly #fresh = new Map<string, number>()

  run(slot: string, session: string | null, now: number): Did {
    const runs = this.runs.get(slot) ?? []
    const run = { did: behaviour(slot, runs.length), at: now, committed: session === null }
    runs.push(run)
    this.runs.set(slot, runs)
    if (session !== null) this.#open.set(session, run)
    return run.did
  }

  committed(session: string): void {
    const run = this.#open.get(session)
    if (run === undefined) return
    run.committed = true
    if (run.did === 'say') this.#fresh.set(session, LOOKS)
  }

  /** Another attempt begins: what ran there before did not come back from its commit. */
  begins(session: string): void {
    this.#open.delete(session)
  }

  reached() {
    return []
  }

  reconnect(): void {}

  wanted() {
    return [...this.#fresh].flatMap(([key, looks]) => {
      const user = key.split(':')[0] ?? ''
      if (this.offline.has(user)) return []
      if (looks > 1) this.#fresh.set(key, looks - 1)
      else this.#fresh.delete(key)
      const after = this.#sessions.get(key) ?? 0
      return [{ bucket: bucketOf(user), key, after, doneAfter: Number.MAX_SAFE_INTEGER }]
    })
  }

  offer(rows: Parameters<Channel['offer']>[0]) {
    return rows.map((row) => {
      const { content } = JSON.parse(row.payload) as { content: string }
      this.heard.set(content, (this.heard.get(content) ?? 0) + 1)
      this.#sessions.set(row.session_key, Number(row.position))
      const { bucket, session_key: key, position } = row
      return { bucket, key, position, outcome: 'completed' as const }
    })
  }

  watched() {
    return []
  }

  show(): void {}
}

/** Where the next death is: at the nth time this moment is reached. */
export interface Death {
  readonly moment: Moment
  readonly nth: number
}

export interface House {
  readonly app: App
  readonly recorder: Recorder
  readonly call: (
    name: string,
    args?: object,
    options?: { actAs?: string },
  ) => Promise<Record<string, never>>
  now(): number
  /** Moves the clock without running anything. */
  sleep(ms: number): void
  advanceTo(at: number): Promise<void>
  /** Lets the process die at that moment, if it comes; another takes over. */
  arm(death: Death): void
  deaths(): number
  stop(): Promise<void>
}

export async function openHouse(database: string): Promise<House> {
  let now = START
  let deaths = 0
  let armed: { moment: Moment; left: number } | null = null
  const recorder = new Recorder()
  const app = await App.open({
    config: readConfig({
      ...{ ...databaseEnv(database), PORT: '0', LOG_LEVEL: 'silent' },
      ...{ WAKEFUL_WAKE_URL: 'http://127.0.0.1:9/', WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' },
    }),
    agents: new Map([['bot', agent(botOf(recorder, () => now))]]),
    work: new Map([['scribe', scribeOf(recorder, () => now)]]),
    log: pino({ level: 'silent' }),
    now: () => new Date(now),
  })
  await app.start()

  const options = engineOptions(app, recorder, () => now)
  let process_ = born()
  function born() {
    let die: () => void = () => undefined
    const death = new Promise<'died'>((done) => {
      die = () => done('died')
    })
    let dead = false
    const moments: TestSignals = {
      async reach(moment, key) {
        if (moment === 'claimed') recorder.begins(key)
        if (moment === 'committed') recorder.committed(key)
        if (!dead && armed?.moment === moment && --armed.left < 0) {
          armed = null
          dead = true
          deaths++
          die()
        }
        if (dead) await NEVER
      },
    }
    return { engine: new Engine({ ...options, moments }), death }
  }

  /** Runs what is due; a process that dies on the way leaves its leases behind. */
  async function quiesce(): Promise<number | null> {
    for (;;) {
      const done = await Promise.race([process_.engine.quiesce(), process_.death])
      if (done !== 'died') return done
      process_ = born()
    }
  }

  return {
    app,
    recorder,
    call: anyCall(callsOf(app)) as House['call'],
    now: () => now,
    sleep: (ms) => {
      now += ms
    },
    async advanceTo(target) {
      for (;;) {
        const nextMs = await quiesce()
        if (nextMs === null || now + nextMs > target) break
        now = Math.min(target, now + Math.max(1, Math.ceil(nextMs - 1e-6)))
      }
      now = Math.max(now, target)
      await quiesce()
    },
    arm: ({ moment, nth }) => {
      armed = { moment, left: nth }
    },
    deaths: () => deaths,
    stop: () => app.stop(),
  }
}

function engineOptions(app: App, recorder: Recorder, now: () => number): EngineOptions {
  const files = { removeUnder: async () => 0 }
  const work = new WorkRunners({
    stores: app.stores,
    agents: new Map([['bot', agent(botOf(recorder, now))]]),
    executors: new Map([['scribe', scribeOf(recorder, now)]]),
    files: files as unknown as ConstructorParameters<typeof WorkRunners>[0]['files'],
    trouble: () => undefined,
  })
  return {
    store: app.store,
    agents: work.agents,
    triggers: [timerTrigger, alarmTrigger, intentTrigger, workTrigger, deferredTrigger('UTC')],
    channels: [recorder],
    wakes: {
      source: alarmWakes({ url: 'http://127.0.0.1:9/', bearer: null }),
      call: async (request) => receive(recorder, request.body, now()),
    },
    policy: POLICY,
    leaseMs: LEASE_MS,
    timerPollMs: 250,
    effectPollMs: 100,
    retention: { checkpointsKept: 3, keepMs: null },
    meter: new Proxy({}, { get: () => () => undefined }) as EngineOptions['meter'],
    services: new Set(['turns']),
  }
}

interface SlotPayload {
  readonly alarm_id?: string
  readonly intent_id?: string
  readonly timer_id?: string
  readonly scheduled_for?: string
}

/** Says the name of its slot, if it says anything. */
function botOf(recorder: Recorder, now: () => number): AgentFunction {
  return (turn) => {
    const { key } = turn.session
    if (turn.event.type === 'user_message') return
    const payload = turn.event.payload as SlotPayload
    const slot =
      payload.timer_id ?? `${payload.alarm_id ?? payload.intent_id} ${payload.scheduled_for}`
    const did = recorder.run(slot, key, now())
    if (did === 'say') turn.say(slot)
    if (did === 'fail') throw new RetryableError({ message: 'not now' })
    if (did === 'terminal') throw new TerminalError('never')
  }
}

function scribeOf(recorder: Recorder, now: () => number) {
  return async (run: { workId: string; userId: string; scheduledFor: Date }) => {
    const slot = `${run.workId} ${run.scheduledFor.toISOString()}`
    const did = recorder.run(slot, `${run.userId}:scribe:${run.workId}`, now())
    if (did === 'fail' || did === 'terminal') throw new Error('no paper')
    return { title: slot, content: 'done' }
  }
}

function receive(recorder: Recorder, body: string, now: number): Attempt {
  const { alarm_id, scheduled_for } = JSON.parse(body) as SlotPayload
  const did = recorder.run(`${alarm_id} ${scheduled_for}`, null, now)
  if (did === 'say' || did === 'silent') return { taken: true }
  return { taken: false, error: '503', terminal: did === 'terminal', retryAfter: null }
}
