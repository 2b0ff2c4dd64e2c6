/**
 * The engine's services over a store that holds a copy of a person's rows, on a clock that the forecast moves. It has no channel, no
 * source and no outgoing call; the caller provides the agents.
 */
import { UNTRACED } from '../../../src/core/trace/trace.ts'
import { alarmTrigger, alarmWakes } from '../../../src/features/alarms/trigger.ts'
import { intentTrigger } from '../../../src/features/intents/trigger.ts'
import { DEFAULT_LIMITS } from '../../../src/features/limits/rules.ts'
import { deferredTrigger } from '../../../src/features/people/deferred-trigger.ts'
import type { Policy } from '../../../src/features/sessions/turn.ts'
import { timerTrigger } from '../../../src/features/timers/trigger.ts'
import { workTrigger } from '../../../src/features/work/trigger.ts'
import { Budgets } from '../../../src/kernel/budgets.ts'
import { clockService } from '../../../src/kernel/clock.ts'
import { LocalHints } from '../../../src/kernel/hints.ts'
import { type Meter, silentMeter } from '../../../src/kernel/meter.ts'
import { type Service, SILENT } from '../../../src/kernel/service.ts'
import { Stops } from '../../../src/kernel/stops.ts'
import type { Trigger } from '../../../src/kernel/trigger.ts'
import { TurnsService } from '../../../src/kernel/turns.ts'
import type { Agents } from '../../../src/kernel/turns-options.ts'
import { WakesService } from '../../../src/kernel/wakes.ts'
import { type DueTable, SESSIONS, WAKES } from '../../../src/store/due.ts'
import type { Store } from '../../../src/store/open.ts'
import { soonestDue } from '../../../src/store/reading.ts'

/** Longer than any turn of a forecast: its clock stands still meanwhile. */
const LEASE_MS = 3_600_000

/** Settings of the process that hold in a forecast too; plain, so that they can be sent to another process. */
export interface Setting {
  readonly policy: Policy
  readonly wakesByUrl: boolean
}

export interface SandboxOptions {
  readonly store: Store
  readonly now: () => Date
  readonly agents: Agents
  readonly setting: Setting
  readonly trouble: Meter['trouble']
}

/** The services at work, wherever their store is. */
export interface SandboxEngine {
  /**
   * Has those services look whose table has something due; answers how many slots became events, and when the next thing is due, which
   * may be now.
   */
  step(): Promise<{ readonly promoted: number; readonly next: Date | null }>
  close(): Promise<void>
}

export function openSandboxEngine(options: SandboxOptions): SandboxEngine {
  const lanes = lanesOf(options)
  return {
    step: steps(lanes, options.store, options.now),
    close: async () => {
      await Promise.all(lanes.map(({ service }) => service.close?.()))
    },
  }
}

/** A service, and the table whose due rows are its business. */
interface Lane {
  readonly table: DueTable
  readonly service: Service
}

/** In the order in which an engine's round ticks them: turns come last. */
function lanesOf({ store, agents, setting, trouble }: SandboxOptions): Lane[] {
  const { policy, wakesByUrl } = setting
  const meter = silentMeter({ trouble })
  const hints = new LocalHints()
  const triggers: readonly Trigger[] = [
    timerTrigger,
    alarmTrigger,
    intentTrigger,
    workTrigger,
    deferredTrigger(policy.timezone ?? 'UTC'),
  ]
  const { engine: claims, commits, db: reads } = store
  const shared = { meter, hints, tracer: UNTRACED, leaseMs: LEASE_MS, moments: SILENT }
  const enabled = policy.autonomy
  const turns = new TurnsService({
    ...{ claims, commits, reads, agents, policy, ...shared },
    // The copy has no stops, and limits as wide as they are unless set.
    budgets: new Budgets(commits, DEFAULT_LIMITS, () => hints.hint('turns')),
    stops: new Stops(claims, [claims]),
    triggers: new Map(triggers.map((trigger) => [trigger.type, trigger])),
  })
  const clocks = triggers.map((trigger) => ({
    table: trigger.table,
    service: clockService({ db: claims, trigger, turns, ...shared, enabled }),
  }))
  const wakes = new WakesService({
    source: alarmWakes({ url: 'http://forecast.invalid', bearer: null }),
    // Every call succeeds.
    call: async () => ({ taken: true }),
    ...{ claims, commits, ...shared, enabled: enabled && wakesByUrl },
  })
  return [...clocks, { table: WAKES, service: wakes }, { table: SESSIONS, service: turns }]
}

/** As `kernel/round.ts`: services tick whose table has something due, turns last. */
function steps(lanes: readonly Lane[], store: Store, now: () => Date): SandboxEngine['step'] {
  /** Lanes that had something due and could take nothing of it, with the instant of their next row. */
  const stuck = new Map<Lane, number>()
  return async () => {
    const tables = lanes.map(({ table }) => table)
    const instants = await soonestDue(store.engine, tables)
    const dueMs = (lane: Lane) =>
      stuck.get(lane) ?? instants[lanes.indexOf(lane)]?.getTime() ?? NEVER
    const nowMs = now().getTime()
    let [did, promoted, open] = [0, 0, 0]
    for (const lane of lanes) {
      const isTurns = lane.table === SESSIONS
      if (dueMs(lane) > nowMs && !(isTurns && open > 0)) {
        if (isTurns && did > 0) await lane.service.settle?.()
        continue
      }
      const tick = await lane.service.tick()
      await lane.service.settle?.()
      did += tick.did
      open += tick.did - (tick.leased ?? 0)
      if (!isTurns) promoted += tick.did
      if (tick.did === 0 && !tick.more) stuck.set(lane, nowMs + waitMs(tick.nextMs))
    }
    if (did > 0) stuck.clear()
    const next = did > 0 ? nowMs : Math.min(...lanes.map(dueMs))
    return { promoted, next: next === NEVER ? null : new Date(next) }
  }
}

const NEVER = Number.POSITIVE_INFINITY

/** Whole milliseconds, never early, always forward. */
function waitMs(nextMs: number | null): number {
  return nextMs === null ? NEVER : Math.max(1, Math.ceil(nextMs - 1e-6))
}
