/**
 * One process of a simulation: an app for its doors and an engine with its loops, as in production, but for the world around it:
 * the store, agents, receivers and devices are reached through the turnstile.
 */

import { pino } from 'pino'
import { PushesService } from '../../packages/channels/hub/src/pushes.ts'
import { agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { WorkRunners } from '../../src/app/runtime.ts'
import { onlyStore } from '../../src/app/shards.ts'
import { alarmTrigger, alarmWakes } from '../../src/features/alarms/trigger.ts'
import { intentTrigger } from '../../src/features/intents/trigger.ts'
import { deferredTrigger } from '../../src/features/people/deferred-trigger.ts'
import { backToPending, positionOf } from '../../src/features/sessions/effect-rows.ts'
import { timerTrigger } from '../../src/features/timers/trigger.ts'
import { workTrigger } from '../../src/features/work/trigger.ts'
import { callsOf } from '../../src/index.ts'
import type { PushChannel } from '../../src/kernel/channel.ts'
import { Engine, type EngineOptions } from '../../src/kernel/engine.ts'
import { SILENT as UNWATCHED } from '../../src/kernel/service.ts'
import { WebSocketChannel } from '../../src/kernel/websocket.ts'
import type { Store } from '../../src/store/open.ts'
import { botOf, scribeOf } from './agents.ts'
import type { Mortal, Turnstile } from './turnstile.ts'
import type { Witness } from './witness.ts'

export const LEASE_MS = 30_000
export const POLICY = { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 }
/** Hints wake the loops before; what another process did is found by polling. */
const POLL_MS = 15_000
const WAKE_URL = 'http://127.0.0.1:9/'

const CONFIG = readConfig({
  ...{ DATABASE_URL: 'memory:', PORT: '0', LOG_LEVEL: 'silent' },
  ...{ WAKEFUL_WAKE_URL: WAKE_URL, WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' },
})
const SILENT = pino({ level: 'silent' })

export interface World {
  readonly store: Store
  readonly turnstile: Turnstile
  readonly witness: Witness
  readonly now: () => Date
}

export class Process {
  readonly mortal: Mortal
  readonly channel: WebSocketChannel
  readonly call: ReturnType<typeof callsOf>['call']
  readonly #engine: Engine

  /** Resolves when it runs. */
  static async start(name: string, world: World): Promise<Process> {
    const mortal = { name, dead: false, free: true }
    const store = world.turnstile.storeOf(world.store, mortal)
    const app = await App.open({
      config: CONFIG,
      agents: new Map([['bot', agent(botOf(world, mortal))]]),
      work: new Map([['scribe', scribeOf(world, mortal)]]),
      log: SILENT,
      now: world.now,
      store,
    })
    await app.start()
    mortal.free = false
    const process = new Process(mortal, app, store, world)
    process.#engine.start()
    return process
  }

  private constructor(mortal: Mortal, app: App, store: Store, world: World) {
    this.mortal = mortal
    this.call = callsOf(app).call
    this.channel = new WebSocketChannel({
      record: (receipt) => this.#engine.outbox.record(receipt),
      positionOf: (session, id) => positionOf(store.db, session, id),
      backToPending: (session, error) => {
        backToPending(store.commits, [session], error).catch(() => undefined)
      },
      wake: (key) => this.#engine.hints.deliver('outbox', [key]),
    })
    this.#engine = new Engine(engineOptions(mortal, store, this.channel, world))
    app.engine.home.hints.relayTo((topic, keys) => this.#engine.hints.deliver(topic, keys))
  }
}

function engineOptions(
  mortal: Mortal,
  store: Store,
  channel: WebSocketChannel,
  world: World,
): EngineOptions {
  const { turnstile, witness } = world
  const files = { removeUnder: async () => 0 }
  const work = new WorkRunners({
    stores: onlyStore(store),
    agents: new Map([['bot', agent(botOf(world, mortal))]]),
    executors: new Map([['scribe', scribeOf(world, mortal)]]),
    files: files as unknown as ConstructorParameters<typeof WorkRunners>[0]['files'],
    trouble: () => undefined,
  })
  const meter = new Proxy({}, { get: () => () => undefined }) as EngineOptions['meter']
  const pushes = new PushesService({
    ...{
      claims: store.engine,
      commits: store.commits,
      leaseMs: LEASE_MS,
      meter,
      moments: UNWATCHED,
    },
    channels: [deviceOf(mortal, world)],
  })
  return {
    store,
    agents: work.agents,
    triggers: [timerTrigger, alarmTrigger, intentTrigger, workTrigger, deferredTrigger('UTC')],
    channels: [channel],
    wakes: {
      source: alarmWakes({ url: WAKE_URL, bearer: null }),
      call: (request) =>
        turnstile
          .pass(mortal, 'wake', async () => witness.wakeTaken(request.id, request.body))
          .catch((error: Error) => ({
            taken: false as const,
            error: error.message,
            terminal: false,
            retryAfter: null,
          })),
    },
    policy: POLICY,
    leaseMs: LEASE_MS,
    timerPollMs: POLL_MS,
    effectPollMs: POLL_MS,
    retention: { checkpointsKept: 3, keepMs: null },
    more: [{ service: pushes, pollMs: POLL_MS, topic: 'outbox' }],
    meter,
    services: new Set(['clock', 'turns', 'outbox']),
  }
}

/** A person's device that holds no connection. */
function deviceOf(mortal: Mortal, { turnstile, witness }: World): PushChannel {
  return {
    name: 'device',
    send: ({ content, sessionKey }) =>
      turnstile
        .pass(mortal, 'push', async () => {
          witness.heardOnDevice(sessionKey, content)
          return { type: 'sent' as const }
        })
        .catch((error: Error) => ({
          type: 'later' as const,
          waitMs: 1_000,
          error: error.message,
          partsSent: 0,
        })),
  }
}
