/** What the engine reports, as log lines and Prometheus metrics. Message texts stay out of both unless asked for, secrets always. */
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Arrived } from '../channels/websocket.ts'
import { errorText } from '../core/errors.ts'
import { traceIdOf } from '../core/trace/context.ts'
import type { DeliveryReport, Meter, TurnReport } from '../engine/meter.ts'
import { isUnavailable } from '../store/db/db.ts'
import { createMetrics, type Gauges, type Metrics } from './metrics.ts'

export interface Report {
  readonly meter: Meter
  readonly registry: Registry
  /** For the doors: an operation was answered. */
  answered(operation: string, status: number, ms: number): void
  /** Gauges that are read when somebody asks. */
  watch(gauges: Omit<Gauges, 'onError'>): void
  close(): void
}

export interface ReportOptions {
  /** Whether log lines may hold the texts of messages. */
  readonly content: boolean
}

export function createReport(log: Logger, options: ReportOptions = { content: false }): Report {
  const metrics = createMetrics()
  const { count, spread, registry } = metrics
  const meter: Meter = {
    promoted(trigger, slots, latenessMs, again = 0) {
      count.promoted.inc({ trigger }, slots)
      const all = typeof latenessMs === 'number' ? [latenessMs] : latenessMs
      for (const ms of all) spread.lateness.observe({ trigger }, ms / 1000)
      if (again > 0) count.retries.inc({ of: trigger }, again)
    },
    turn(report) {
      countTurn(metrics, report)
      logTurn(log, report, options.content)
    },
    batch: (kind, size) => spread.batch.observe({ kind }, size),
    leasesLost: (leases) => count.lost.inc(leases),
    delivered: (channel, attempts) => count.deliveries.inc({ channel, result: 'sent' }, attempts),
    delivery(report) {
      const { channel, result } = report
      count.deliveries.inc({ channel, result })
      spread.delivery.observe({ channel }, report.durationMs / 1000)
      logDelivery(log, report)
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
    close: () => metrics.close(),
  }
}

function countTurn({ count, spread }: Metrics, report: TurnReport): void {
  const { agentId: agent, eventType, status, waitMs, latenessMs } = report
  count.turns.inc({ agent, status })
  spread.turn.observe({ agent, status }, report.durationMs / 1000)
  if (status === 'retrying') count.retries.inc({ of: 'turn' })
  if (waitMs !== null) spread.wait.observe({ type: eventType }, waitMs / 1000)
  if (latenessMs !== null) spread.handlerLateness.observe({ trigger: eventType }, latenessMs / 1000)
  for (const { rule } of report.verdicts) count.verdicts.inc({ rule })
  for (const { rule } of report.notes) count.notes.inc({ rule })
}

/** One line for each turn, and one for each block or warning in it. */
function logTurn(log: Logger, report: TurnReport, content: boolean): void {
  if (!log.isLevelEnabled('info') && report.notes.length === 0 && report.error === null) return
  const line = {
    session_key: report.sessionKey,
    event_seq: report.eventSeq,
    trigger: report.eventType,
    reason: report.reason,
    ...found({
      trigger_id: report.triggerId,
      slot: report.slot?.toISOString(),
      checkpoint_id: report.checkpointId,
      trace_id: traceIdOf(report.traceparent),
    }),
    attempt: report.attempt,
  }
  for (const note of report.notes) log[note.level]({ ...line, rule: note.rule }, note.text)
  const done = {
    ...line,
    agent: report.agentId,
    status: report.status,
    ms: rounded(report.durationMs),
    ...(content ? { payload: report.payload } : {}),
  }
  if (report.error === null) log.info(done, `turn ${report.status}`)
  else log.warn({ ...done, error: report.error }, `turn ${report.status}`)
}

function logDelivery(log: Logger, report: DeliveryReport): void {
  const level = report.error === null ? 'info' : 'warn'
  if (!log.isLevelEnabled(level)) return
  const line = found({
    channel: report.channel,
    result: report.result,
    id: report.id,
    session_key: report.sessionKey,
    event_seq: report.eventSeq,
    checkpoint_id: report.checkpointId,
    trigger: report.trigger,
    trigger_id: report.triggerId,
    reason: report.reason,
    slot: report.slot?.toISOString(),
    attempt: report.attempt,
    ms: rounded(report.durationMs),
    error: report.error,
    trace_id: traceIdOf(report.traceparent),
  })
  log[level](line, `delivery ${report.result}`)
}

const rounded = (ms: number) => Math.round(ms * 10) / 10

function found(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  )
}

/** What is told of a message that a socket's reader has acknowledged. */
export function arrivedReport({ row, durationMs, traceparent }: Arrived): DeliveryReport {
  const origin =
    row.origin === null ? null : (JSON.parse(row.origin) as { kind: string; id?: string })
  return {
    channel: 'websocket',
    result: 'acknowledged',
    durationMs,
    id: row.id,
    sessionKey: row.session_key,
    eventSeq: row.event_seq,
    checkpointId: row.checkpoint_id ?? null,
    trigger: origin?.kind ?? 'user_message',
    triggerId: origin?.id ?? null,
    reason: row.reason,
    slot: null,
    attempt: null,
    error: null,
    traceparent,
  }
}
