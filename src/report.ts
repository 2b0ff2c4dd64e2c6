/** What the engine reports, as log lines and Prometheus metrics. Message texts and secrets stay out of both. */
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { errorText } from './core/errors.ts'
import type { Meter } from './engine/meter.ts'
import { isUnavailable } from './store/db.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

export interface Gauges {
  readonly pools: () => { name: string; total: number; idle: number; waiting: number }[]
  readonly running: () => number
  readonly sockets: () => number
  readonly dueLagMs: () => Promise<Record<string, number>>
}

export function createReport(log: Logger): {
  meter: Meter
  registry: Registry
  watch(gauges: Gauges): void
} {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const registers = [registry]
  const promoted = new Counter({
    name: 'wakeful_promoted_total',
    help: 'Slots promoted to events',
    labelNames: ['trigger'],
    registers,
  })
  const lateness = new Histogram({
    name: 'wakeful_lateness_seconds',
    help: 'From due to promoted, the latest of each batch',
    labelNames: ['trigger'],
    buckets: SECONDS,
    registers,
  })
  const turns = new Counter({
    name: 'wakeful_turns_total',
    help: 'Turns by what they came to',
    labelNames: ['status'],
    registers,
  })
  const turnTime = new Histogram({
    name: 'wakeful_turn_seconds',
    help: 'From claim to commit',
    buckets: SECONDS,
    registers,
  })
  const verdicts = new Counter({
    name: 'wakeful_notes_total',
    help: 'Blocked messages, dropped follow-ups and warnings by rule',
    labelNames: ['rule'],
    registers,
  })
  const batches = new Histogram({
    name: 'wakeful_group_commit_size',
    help: 'Items sharing one commit',
    labelNames: ['kind'],
    buckets: SIZES,
    registers,
  })
  const lost = new Counter({
    name: 'wakeful_leases_lost_total',
    help: 'Leases lost before their work was written',
    registers,
  })
  const delivered = new Counter({
    name: 'wakeful_deliveries_total',
    help: 'Delivery attempts by channel',
    labelNames: ['channel'],
    registers,
  })
  const troubles = new Counter({
    name: 'wakeful_trouble_total',
    help: 'Errors a service went on after',
    labelNames: ['where'],
    registers,
  })

  const meter: Meter = {
    promoted(type, count, latenessMs) {
      promoted.inc({ trigger: type }, count)
      lateness.observe({ trigger: type }, latenessMs / 1000)
    },
    turn(report) {
      turns.inc({ status: report.status })
      turnTime.observe(report.durationMs / 1000)
      const line = {
        session_key: report.sessionKey,
        event_seq: report.eventSeq,
        event_type: report.eventType,
        attempt: report.attempt,
        checkpoint_id: report.checkpointId,
      }
      for (const note of report.notes) {
        verdicts.inc({ rule: note.rule })
        log[note.level]({ ...line, rule: note.rule }, note.text)
      }
      const done = { ...line, status: report.status, ms: Math.round(report.durationMs * 10) / 10 }
      if (report.error !== null) log.warn({ ...done, error: report.error }, `turn ${report.status}`)
      else if (log.isLevelEnabled('debug')) log.debug(done, `turn ${report.status}`)
    },
    batch: (kind, size) => batches.observe({ kind }, size),
    leasesLost: (count) => lost.inc(count),
    delivered: (channel, count) => delivered.inc({ channel }, count),
    trouble(where, error) {
      troubles.inc({ where })
      log[isUnavailable(error) ? 'warn' : 'error'](
        { where, error: errorText(error) },
        `${where}: ${errorText(error, 200)}`,
      )
    },
  }
  return { meter, registry, watch: (gauges) => watch(registry, gauges) }
}

function watch(registry: Registry, gauges: Gauges): void {
  const registers = [registry]
  new Gauge({
    name: 'wakeful_pool_connections',
    help: 'Database connections',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const { name, total, idle, waiting } of gauges.pools()) {
        this.set({ pool: name, state: 'busy' }, total - idle)
        this.set({ pool: name, state: 'idle' }, idle)
        this.set({ pool: name, state: 'waiting' }, waiting)
      }
    },
  })
  new Gauge({
    name: 'wakeful_turns_running',
    help: 'Turns running in this process',
    registers,
    collect() {
      this.set(gauges.running())
    },
  })
  new Gauge({
    name: 'wakeful_sockets',
    help: 'Open sockets of this process',
    registers,
    collect() {
      this.set(gauges.sockets())
    },
  })
  new Gauge({
    name: 'wakeful_due_lag_seconds',
    help: 'Age of the oldest due row that nobody has taken',
    labelNames: ['table'],
    registers,
    async collect() {
      for (const [table, ms] of Object.entries(await gauges.dueLagMs()))
        this.set({ table }, ms / 1000)
    },
  })
}
