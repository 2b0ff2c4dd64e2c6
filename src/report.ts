/** What the engine reports, as log lines and Prometheus metrics. Message texts and secrets stay out of both. */
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { errorText } from './core/errors.ts'
import type { Meter, TurnReport } from './engine/meter.ts'
import { isUnavailable } from './store/db.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

export interface Gauges {
  readonly pools: () => { name: string; total: number; idle: number; waiting: number }[]
  readonly running: () => number
  readonly sockets: () => number
  readonly dueLagMs: () => Promise<Record<string, number>>
}

export interface Report {
  readonly meter: Meter
  readonly registry: Registry
  /** Gauges that are read when somebody asks. */
  watch(gauges: Gauges): void
}

export function createReport(log: Logger): Report {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const count = counters(registry)
  const spread = histograms(registry)
  const meter: Meter = {
    promoted(type, slots, latenessMs) {
      count.promoted.inc({ trigger: type }, slots)
      spread.lateness.observe({ trigger: type }, latenessMs / 1000)
    },
    turn(report) {
      count.turns.inc({ status: report.status })
      spread.turn.observe(report.durationMs / 1000)
      for (const { rule } of report.notes) count.notes.inc({ rule })
      logTurn(log, report)
    },
    batch: (kind, size) => spread.batch.observe({ kind }, size),
    leasesLost: (leases) => count.lost.inc(leases),
    delivered: (channel, attempts) => count.delivered.inc({ channel }, attempts),
    trouble(where, error) {
      count.trouble.inc({ where })
      const text = errorText(error, 500)
      log[isUnavailable(error) ? 'warn' : 'error']({ where, error: text }, `${where}: ${text}`)
    },
  }
  return { meter, registry, watch: (gauges) => watch(registry, gauges) }
}

/** One line for each turn that failed or was held back; the others only for who asks for them. */
function logTurn(log: Logger, report: TurnReport): void {
  const quiet = report.notes.length === 0 && report.error === null
  if (quiet && !log.isLevelEnabled('debug')) return
  const line = {
    session_key: report.sessionKey,
    event_seq: report.eventSeq,
    event_type: report.eventType,
    attempt: report.attempt,
    checkpoint_id: report.checkpointId,
  }
  for (const note of report.notes) log[note.level]({ ...line, rule: note.rule }, note.text)
  const done = { ...line, status: report.status, ms: Math.round(report.durationMs * 10) / 10 }
  if (report.error === null) log.debug(done, `turn ${report.status}`)
  else log.warn({ ...done, error: report.error }, `turn ${report.status}`)
}

function counters(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `wakeful_${name}_total`, help, labelNames, registers: [registry] })
  return {
    promoted: counter('promoted', 'Slots promoted to events', 'trigger'),
    turns: counter('turns', 'Turns by what they came to', 'status'),
    notes: counter('notes', 'Blocked messages, dropped follow-ups and warnings by rule', 'rule'),
    lost: counter('leases_lost', 'Leases lost before their work was written'),
    delivered: counter('deliveries', 'Delivery attempts by channel', 'channel'),
    trouble: counter('trouble', 'Errors a service went on after', 'where'),
  }
}

function histograms(registry: Registry) {
  const histogram = <L extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: L[]
  ) => new Histogram({ name: `wakeful_${name}`, help, buckets, labelNames, registers: [registry] })
  return {
    lateness: histogram(
      'lateness_seconds',
      'From due to promoted, the latest of each batch',
      SECONDS,
      'trigger',
    ),
    turn: histogram('turn_seconds', 'From claim to commit', SECONDS),
    batch: histogram('group_commit_size', 'Items sharing one commit', SIZES, 'kind'),
  }
}

function watch(registry: Registry, gauges: Gauges): void {
  const gauge = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    collect: (each: Gauge<L>) => void | Promise<void>,
  ) =>
    new Gauge({
      name: `wakeful_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        return collect(this)
      },
    })
  gauge('pool_connections', 'Database connections', ['pool', 'state'], (each) => {
    for (const { name, total, idle, waiting } of gauges.pools()) {
      each.set({ pool: name, state: 'busy' }, total - idle)
      each.set({ pool: name, state: 'idle' }, idle)
      each.set({ pool: name, state: 'waiting' }, waiting)
    }
  })
  gauge('turns_running', 'Turns running in this process', [], (each) => each.set(gauges.running()))
  gauge('sockets', 'Open sockets of this process', [], (each) => each.set(gauges.sockets()))
  gauge(
    'due_lag_seconds',
    'Age of the oldest due row that nobody has taken',
    ['table'],
    async (each) => {
      for (const [table, ms] of Object.entries(await gauges.dueLagMs()))
        each.set({ table }, ms / 1000)
    },
  )
}
