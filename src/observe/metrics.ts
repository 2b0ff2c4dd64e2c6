/** The Prometheus metrics. Labels have few values (kinds, agents, rules, operations), never a person's or a session's. */
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
/** How late something fires reaches from a millisecond to the length of a night without a server. */
const LATE_SECONDS = [...SECONDS, 300, 3600, 43_200]
const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]
/** What has to be read from the database is read this often at most, however many ask. */
const READ_EVERY_MS = 5_000
const LOOP_RESOLUTION_MS = 20
const NS_PER_SECOND = 1e9

/** What is asked of a shard's database. */
export interface ShardGauges {
  /** The labels that tell it apart; none where it is the only one. */
  readonly labels: { readonly shard?: string }
  readonly pools: () => { name: string; total: number; idle: number; waiting: number }[]
  readonly dueLagMs: () => Promise<Record<string, number>>
  readonly outbox: () => Promise<{ status: string; depth: number; oldestMs: number }[]>
  readonly eventsWaiting: () => Promise<number | null>
}

export interface Gauges {
  readonly running: () => number
  readonly sockets: () => number
  readonly shards: readonly ShardGauges[]
  /** Told when a look at the database failed; the rest is shown all the same. */
  readonly onError: (error: unknown) => void
}

export interface Metrics {
  readonly registry: Registry
  readonly count: ReturnType<typeof counters>
  readonly spread: ReturnType<typeof histograms>
  /** Gauges that are read when somebody asks. */
  watch(gauges: Gauges): void
  /** Somebody may ask from now on: what the process itself is like is measured, too. */
  begin(): void
  close(): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  return {
    registry,
    count: counters(registry),
    spread: histograms(registry),
    watch(gauges) {
      watchProcess(registry, gauges, loop)
      watchDatabase(registry, gauges)
    },
    begin() {
      // Also after a listen that failed.
      if (loop.enable()) collectDefaultMetrics({ register: registry })
    },
    close: () => loop.disable(),
  }
}

function counters(registry: Registry) {
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `wakeful_${name}_total`, help, labelNames, registers: [registry] })
  return {
    operations: counter('operations', 'Answers to operations', 'operation', 'status'),
    promoted: counter('promoted', 'Slots promoted to events or calls', 'trigger'),
    turns: counter('turns', 'Turns by what they came to', 'agent', 'status'),
    verdicts: counter('verdicts', 'What the gate said to messages that answer nobody', 'rule'),
    notes: counter('notes', 'Blocked messages, dropped follow-ups and warnings by rule', 'rule'),
    lost: counter('leases_lost', 'Leases lost before their work was written'),
    retries: counter('retries', 'Attempts that follow a failed one', 'of'),
    deliveries: counter(
      'deliveries',
      'Deliveries: sent to a socket, and what came of those, of pushes and of calls',
      'channel',
      'result',
    ),
    polls: counter('source_polls', 'Looks at sources of signals', 'source', 'result'),
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
    operation: histogram('operation_seconds', 'From request to answer', SECONDS, 'operation'),
    lateness: histogram('lateness_seconds', 'From due to promoted', LATE_SECONDS, 'trigger'),
    handlerLateness: histogram(
      'handler_lateness_seconds',
      'From the nominal instant of a slot to its agent; an attempt at a slot that failed before counts from there, too',
      LATE_SECONDS,
      'trigger',
    ),
    wait: histogram('event_wait_seconds', 'From event to agent', LATE_SECONDS, 'type'),
    turn: histogram('turn_seconds', 'From claim to commit', SECONDS, 'agent', 'status'),
    delivery: histogram(
      'delivery_seconds',
      'From sent to acknowledged or given back, or from called to answered',
      SECONDS,
      'channel',
    ),
    poll: histogram('source_poll_seconds', 'A look at a source of signals', SECONDS, 'source'),
    batch: histogram('group_commit_size', 'Items sharing one commit', SIZES, 'kind'),
  }
}

type Gauging = <L extends string>(
  name: string,
  help: string,
  labelNames: L[],
  collect: (each: Gauge<L>) => void | Promise<void>,
) => void

const gauging =
  (registry: Registry): Gauging =>
  (name, help, labelNames, collect) => {
    new Gauge({
      name: `wakeful_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        return collect(this)
      },
    })
  }

function watchProcess(registry: Registry, gauges: Gauges, loop: IntervalHistogram): void {
  const gauge = gauging(registry)
  gauge('pool_connections', 'Database connections', ['pool', 'state', 'shard'], (each) => {
    for (const { labels, pools } of gauges.shards)
      for (const { name: pool, total, idle, waiting } of pools()) {
        each.set({ pool, state: 'busy', ...labels }, total - idle)
        each.set({ pool, state: 'idle', ...labels }, idle)
        each.set({ pool, state: 'waiting', ...labels }, waiting)
      }
  })
  gauge('turns_running', 'Turns running in this process', [], (each) => each.set(gauges.running()))
  gauge('sockets', 'Open sockets of this process', [], (each) => each.set(gauges.sockets()))
  gauge(
    'event_loop_lag_seconds',
    'How long the event loop was held up since the last scrape',
    ['quantile'],
    (each) => {
      // Each sample is a whole interval of the timer: what is beyond its resolution is the lag.
      const lag = (ns: number) => Math.max(0, ns / NS_PER_SECOND - LOOP_RESOLUTION_MS / 1000)
      for (const share of [50, 99])
        each.set({ quantile: String(share / 100) }, lag(loop.percentile(share)))
      each.set({ quantile: '1' }, lag(loop.max))
      loop.reset()
    },
  )
}

function watchDatabase(registry: Registry, gauges: Gauges): void {
  const gauge = gauging(registry)
  const shards = gauges.shards.map(({ labels, dueLagMs, outbox, eventsWaiting }) => ({
    labels,
    lags: remembered(dueLagMs),
    outbox: remembered(outbox),
    waiting: remembered(eventsWaiting),
  }))
  // Without its database a shard is left out: an old number would look like a living one.
  const shown =
    <L extends string>(show: (each: Gauge<L>, shard: (typeof shards)[number]) => Promise<void>) =>
    async (each: Gauge<L>) => {
      each.reset()
      // A gauge without labels begins at 0 again, which would be a number, too.
      each.remove({})
      await Promise.all(shards.map((shard) => show(each, shard).catch(gauges.onError)))
    }
  gauge(
    'due_lag_seconds',
    'Age of the oldest due row that nobody has taken',
    ['table', 'shard'],
    shown(async (each, { labels, lags }) => {
      for (const [table, ms] of Object.entries(await lags()))
        each.set({ table, ...labels }, ms / 1000)
    }),
  )
  gauge(
    'events_waiting',
    'Events whose turn has not been yet, those under way included, of the 10000 sessions that wait longest',
    ['shard'],
    shown(async (each, { labels, waiting }) => {
      const events = await waiting()
      if (events !== null) each.set(labels, events)
    }),
  )
  gauge(
    'outbox_messages',
    'Messages not acknowledged yet: pending (nobody listens) and executing (sent); 10000 stands for that many or more',
    ['status', 'shard'],
    shown(async (each, { labels, outbox }) => {
      for (const { status, depth } of await outbox()) each.set({ status, ...labels }, depth)
    }),
  )
  gauge(
    'outbox_oldest_seconds',
    'Age of the oldest message not acknowledged yet',
    ['status', 'shard'],
    shown(async (each, { labels, outbox }) => {
      for (const { status, oldestMs } of await outbox())
        each.set({ status, ...labels }, oldestMs / 1000)
    }),
  )
}

/** One look shared by all who ask within the interval, also while it is under way; a failed one is not kept. */
function remembered<T>(read: () => Promise<T>): () => Promise<T> {
  let kept: { atMs: number; value: Promise<T> } | null = null
  return () => {
    const nowMs = performance.now()
    if (kept !== null && nowMs - kept.atMs < READ_EVERY_MS) return kept.value
    const value = read()
    const look = { atMs: nowMs, value }
    kept = look
    value.catch(() => {
      if (kept === look) kept = null
    })
    return value
  }
}
