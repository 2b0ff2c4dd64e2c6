/** What the engine reports, as log lines and Prometheus metrics. Message texts stay out of both unless asked for, secrets always. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { errorText } from '../core/errors.ts'
import { traceIdOf } from '../core/trace/context.ts'
import type { DeliveryRecord, Meter, TurnRecord } from '../kernel/meter.ts'
import { isUnavailable } from '../store/db.ts'
import { createMetrics, type Gauges, type Metrics } from './metrics.ts'

/** As the worker's report says it. */
const HELD_BACK = 'gate_blocked'

export interface Metering {
  readonly meter: Meter
  readonly registry: Registry
  /** For the doors: an operation was answered. */
  answered(operation: string, status: number, ms: number): void
  /** Gauges that are read when somebody asks. */
  watch(gauges: Omit<Gauges, 'onError'>): void
  /** Somebody may ask from now on. */
  begin(): void
  close(): void
}

export interface MeterOptions {
  /** Whether log lines may hold the texts of messages. */
  readonly content: boolean
}

export function createMeter(log: Logger, options: MeterOptions = { content: false }): Metering {
  const metrics = createMetrics()
  const { count, spread, registry } = metrics
  const meter: Meter = {
    promoted(trigger, slots, latenessMs, again = 0) {
      count.promoted.inc({ trigger }, slots)
      const all = typeof latenessMs === 'number' ? [latenessMs] : latenessMs
      for (const ms of all) spread.lateness.observe({ trigger }, ms / 1000)
      if (again > 0) count.retries.inc({ of: trigger }, again)
    },
    turn(record) {
      countTurn(metrics, record)
      logTurn(log, record, options.content)
    },
    heldBack({ trigger, triggerId }) {
      count.notes.inc({ rule: HELD_BACK })
      const line = { trigger, trigger_id: triggerId, rule: HELD_BACK }
      log.info(line, 'held back by the gate of its worker')
    },
    batch: (kind, size) => spread.batch.observe({ kind }, size),
    leasesLost: (leases) => count.lost.inc(leases),
    delivered: (channel, attempts) => count.deliveries.inc({ channel, result: 'sent' }, attempts),
    delivery(record) {
      const { channel, result } = record
      count.deliveries.inc({ channel, result })
      spread.delivery.observe({ channel }, record.durationMs / 1000)
      logDelivery(log, record)
    },
    polled(source, result, durationMs) {
      count.polls.inc({ source, result })
      spread.poll.observe({ source }, durationMs / 1000)
    },
    trouble(where, error) {
      count.trouble.inc({ where })
      const text = errorText(error, 500)
      log[isUnavailable(error) ? 'warn' : 'error']({ where, error: text }, `${where}: ${text}`)
    },
  }
  return {
    meter,
    registry,
    answered(operation, status, ms) {
      count.operations.inc({ operation, status: String(status) })
      spread.operation.observe({ operation }, ms / 1000)
    },
    watch: (gauges) =>
      metrics.watch({ ...gauges, onError: (error) => meter.trouble('metrics', error) }),
    begin: () => metrics.begin(),
    close: () => metrics.close(),
  }
}

function countTurn({ count, spread }: Metrics, record: TurnRecord): void {
  const { agentId: agent, eventType, status, waitMs, latenessMs } = record
  count.turns.inc({ agent, status })
  spread.turn.observe({ agent, status }, record.durationMs / 1000)
  if (status === 'retrying') count.retries.inc({ of: 'turn' })
  if (waitMs !== null) spread.wait.observe({ type: eventType }, waitMs / 1000)
  if (latenessMs !== null) spread.handlerLateness.observe({ trigger: eventType }, latenessMs / 1000)
  for (const { rule } of record.verdicts) count.verdicts.inc({ rule })
  for (const { rule } of record.notes) count.notes.inc({ rule })
}

/** One line for each turn, and one for each block or warning in it. */
function logTurn(log: Logger, record: TurnRecord, content: boolean): void {
  if (!log.isLevelEnabled('info') && record.notes.length === 0 && record.error === null) return
  const line = {
    session_key: record.sessionKey,
    event_seq: record.eventSeq,
    trigger: record.eventType,
    reason: record.reason,
    ...found({
      trigger_id: record.triggerId,
      slot: record.slot?.toISOString(),
      checkpoint_id: record.checkpointId,
      trace_id: traceIdOf(record.traceparent),
    }),
    attempt: record.attempt,
  }
  for (const note of record.notes) log[note.level]({ ...line, rule: note.rule }, note.text)
  const done = {
    ...line,
    agent: record.agentId,
    status: record.status,
    ms: rounded(record.durationMs),
    ...(content ? { payload: record.payload } : {}),
  }
  if (record.error === null) log.info(done, `turn ${record.status}`)
  else log.warn({ ...done, error: record.error }, `turn ${record.status}`)
}

function logDelivery(log: Logger, record: DeliveryRecord): void {
  const level = record.error === null ? 'info' : 'warn'
  if (!log.isLevelEnabled(level)) return
  const line = found({
    channel: record.channel,
    result: record.result,
    id: record.id,
    session_key: record.sessionKey,
    event_seq: record.eventSeq,
    checkpoint_id: record.checkpointId,
    trigger: record.trigger,
    trigger_id: record.triggerId,
    reason: record.reason,
    slot: record.slot?.toISOString(),
    attempt: record.attempt,
    ms: rounded(record.durationMs),
    error: record.error,
    trace_id: traceIdOf(record.traceparent),
  })
  log[level](line, `delivery ${record.result}`)
}

const rounded = (ms: number) => Math.round(ms * 10) / 10

function found(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  )
}
