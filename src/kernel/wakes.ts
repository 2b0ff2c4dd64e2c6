/**
 * The wakes service: calls receivers for what is due and is not an agent's event. Every call has its own
 * lease, so that a slow receiver delays nobody; a call that takes longer than most gives its place to
 * the next one and goes on beside them, up to a bound.
 */
import { performance } from 'node:perf_hooks'
import type { WebhookRequest } from '../calls/webhook.ts'
import { newToken } from '../core/ids.ts'
import { type Span, type Tracer, UNTRACED } from '../core/trace/trace.ts'
import type { Attempt } from '../features/alarms/rules.ts'
import { holdWakes } from '../features/limits/stop-rows.ts'
import type { StopMove } from '../features/limits/stops.ts'
import type { Db } from '../store/db.ts'
import { commitTx, type DueTable, extendClaims, releaseClaims } from '../store/due.ts'
import { GroupCommit } from '../store/group.ts'
import {
  type Call,
  LeasedRuns,
  markSlow,
  retryWhileUnavailable,
  SLOW_SWEEP_MS,
} from './leased-runs.ts'
import type { DeliveryRecord, Meter } from './meter.ts'
import { IDLE, type Service, type TestSignals, type Tick } from './service.ts'
import { batchSpan, endDelivery, wakeSpan } from './spans.ts'
import { DROPPED, type Stops } from './stops.ts'
import type { WakeCall, WakeResult, WakeSource } from './trigger.ts'

export interface WakesOptions {
  readonly source: WakeSource
  readonly call: (request: WebhookRequest, signal: AbortSignal) => Promise<Attempt>
  readonly claims: Db
  readonly commits: Db
  readonly leaseMs: number
  readonly meter: Meter
  readonly tracer?: Tracer
  readonly moments: TestSignals
  /** AUTONOMY_ENABLED: false wakes nobody. */
  readonly enabled: boolean
  readonly stops?: Stops
}

interface Running extends Call {
  readonly call: WakeCall
  readonly token: string
  readonly controller: AbortController
}

/** Calls under way that have just begun, and all of them with those that hang. */
const CONCURRENCY = 256
const RUNNING_MAX = 4096
const SETTLE_MAX = 500
const STOP_GRACE_MS = 8_000

export class WakesService implements Service {
  readonly name = 'wakes'
  readonly tables: readonly DueTable[]
  /** Called when places are free after there were none. */
  onFree: () => void = () => undefined
  readonly #options: WakesOptions
  readonly #running: LeasedRuns<Running>
  readonly #settles: GroupCommit<WakeResult, boolean>
  #slow = 0
  #starved = false
  #sweep: NodeJS.Timeout | null = null

  constructor(options: WakesOptions) {
    this.#options = options
    this.tables = [options.source.table]
    this.#running = new LeasedRuns({
      leaseMs: options.leaseMs,
      keyOf: ({ call }) => call.id,
      extend: (all) =>
        extendClaims(options.claims, options.source.table, all.map(leaseOf), options.leaseMs),
      lost: ({ controller }) => controller.abort(),
      meter: options.meter,
    })
    this.#settles = new GroupCommit({
      commit: (results) => commitTx(options.commits, (tx) => options.source.settle(tx, results)),
      batchMax: SETTLE_MAX,
      lanes: options.commits.kind === 'postgres' ? 2 : 1,
      queueMax: Number.POSITIVE_INFINITY,
      onFull: () => new Error('unreachable: the calls under way bound this queue'),
      onBatch: (size) => options.meter.batch('wakes', size),
    })
  }

  get depth(): number {
    return this.#running.size
  }

  async tick(): Promise<Tick> {
    if (!this.#options.enabled || this.#options.stops?.everything) return IDLE
    const limit = this.#free()
    this.#starved = limit <= 0
    if (this.#starved) return IDLE
    const { source, claims, leaseMs, meter, tracer = UNTRACED } = this.#options
    const claimMs = performance.now()
    const token = newToken()
    const { calls, nextMs } = await source.claim(claims, limit, leaseMs, token)
    const stopped = calls.filter((call) => this.#move(call) === 'hold')
    await holdWakes(
      claims,
      stopped.map((call) => leaseOf({ call, token })),
    )
    for (const call of calls) if (!stopped.includes(call)) this.#start(call, token)
    if (calls.length > 0) {
      const late = calls.map(({ now, dueAt }) => Math.max(0, now.getTime() - dueAt.getTime()))
      const again = calls.filter(({ slot }) => (slot?.attempt ?? 1) > 1).length
      meter.promoted(source.type, calls.length, late, again)
      batchSpan(tracer, `claim ${source.type} wakes`, claimMs, calls.length)
      this.#sweep ??= setInterval(() => this.#makeRoom(), SLOW_SWEEP_MS).unref()
    }
    const full = calls.length === limit
    this.#starved = full && this.#free() <= 0
    return { did: calls.length, more: full && !this.#starved, nextMs }
  }

  settle(): Promise<void> {
    return this.#running.settle()
  }

  /** Calls under way may finish; those that do not in time are cut and their rows given back. */
  async close(): Promise<void> {
    const left = await this.#running.end(STOP_GRACE_MS)
    for (const each of left) each.controller.abort()
    if (left.length > 0)
      await releaseClaims(this.#options.claims, this.#options.source.table, left.map(leaseOf))
    await this.#settles.idle()
    if (this.#sweep !== null) clearInterval(this.#sweep)
    this.#sweep = null
  }

  #free(): number {
    return Math.min(
      CONCURRENCY - (this.#running.size - this.#slow),
      RUNNING_MAX - this.#running.size,
    )
  }

  #start(call: WakeCall, token: string): void {
    const running: Running = {
      ...{ call, token, slow: false, startedMs: performance.now() },
      controller: new AbortController(),
    }
    // By token: a row whose lease was lost may be claimed again while its old call still hangs.
    this.#running.start(`${call.id} ${token}`, running, this.#take(running), () => {
      if (running.slow) this.#slow--
      this.#offer()
    })
  }

  /** Not for each place that gets free: a claim is worth its round trip from a few dozen rows on. */
  #offer(): void {
    if (!this.#starved || this.#free() < CONCURRENCY / 4) return
    this.#starved = false
    this.onFree()
  }

  /** Call, settle, signal. */
  async #take(running: Running): Promise<void> {
    const { call, token, controller } = running
    const { moments, meter, source, tracer = UNTRACED } = this.#options
    const span = wakeSpan(tracer, source.type, call)
    try {
      await moments.reach('claimed', call.id)
      const attempt = await this.#call(call, span, controller.signal)
      if (controller.signal.aborted) return
      await moments.reach('delivered', call.id)
      const ours = await this.#settle({ call, token, attempt }, controller.signal)
      if (ours === null) return
      if (ours) this.#record(running, attempt, span)
      else meter.leasesLost(1)
      await moments.reach('committed', call.id)
    } finally {
      span.end()
    }
  }

  #record({ call, startedMs }: Running, attempt: Attempt, span: Span): void {
    const { meter, source } = this.#options
    const record: DeliveryRecord = {
      channel: 'webhook',
      result: attempt.taken ? 'taken' : call.givenUp === null ? 'failed' : 'given_up',
      durationMs: performance.now() - startedMs,
      id: call.deliveryId,
      sessionKey: null,
      eventSeq: null,
      checkpointId: null,
      trigger: source.type,
      triggerId: call.slot?.triggerId ?? call.id,
      reason: source.reason,
      slot: call.slot?.scheduledFor ?? null,
      attempt: call.slot?.attempt ?? null,
      error: attempt.taken ? null : attempt.error,
      traceparent: span.traceparent,
    }
    meter.delivery(record)
    endDelivery(span, record)
  }

  async #call(call: WakeCall, span: Span, signal: AbortSignal): Promise<Attempt> {
    const { url, bearer, deliveryId, body, now } = call
    const givenUp = this.#move(call) === 'drop' ? DROPPED.text : call.givenUp
    if (givenUp !== null) return { taken: false, error: givenUp, terminal: true, retryAfter: null }
    const own = {
      ...(call.secrets === undefined ? {} : { secrets: call.secrets }),
      ...(call.headers === undefined ? {} : { headers: call.headers }),
    }
    const { traceparent } = span
    const request = { url, bearer, id: deliveryId, at: now, body, traceparent, ...own }
    return this.#options.call(request, signal)
  }

  /** A wake has no session that could go on without it: it waits as a whole. */
  #move({ slot, now }: WakeCall): StopMove {
    const { stops } = this.#options
    if (slot === undefined || stops === undefined) return 'run'
    const { triggerId, userId, scheduledFor } = slot
    const what = { type: 'alarm', agentId: '', createdAt: now } as const
    const move = stops.judge({ ...what, triggerId, userId, scheduledFor })
    return move === 'defer' ? 'hold' : move
  }

  #settle(result: WakeResult, signal: AbortSignal): Promise<boolean | null> {
    return retryWhileUnavailable(() => this.#settles.submit(result), {
      trouble: (error) => this.#options.meter.trouble('wakes', error),
      over: () => signal.aborted,
    })
  }

  #makeRoom(): void {
    this.#slow += markSlow(this.#running.runs()).length
    this.#offer()
  }
}

const leaseOf = ({ call, token }: Pick<Running, 'call' | 'token'>) => ({
  bucket: call.bucket,
  key: call.id,
  token,
})
