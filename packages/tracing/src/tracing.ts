/**
 * Where spans go. With LANGFUSE_* or OTEL_EXPORTER_OTLP_ENDPOINT set, the OpenTelemetry SDK is loaded and sends
 * them there; without, nothing of it is loaded, and spans go to the tracer that the surrounding application has
 * registered, if it has. Langfuse is reached by its OTLP endpoint: the same exporter serves both.
 */
import {
  type Context,
  context,
  createTraceState,
  type Span as OtelSpan,
  type Tracer as OtelTracer,
  type ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace-node'
import { type Config, ConfigError } from '../../../src/config.ts'
import { carried, carry } from '../../../src/core/trace/context.ts'
import type { Attributes, Span, SpanOptions, Tracer } from '../../../src/core/trace/trace.ts'
import { UNTRACED } from '../../../src/core/trace/trace.ts'

export interface Tracing {
  readonly tracer: Tracer
  /** Flushes pending spans, for a bounded time, and shuts down. */
  stop(): Promise<void>
}

type TracingConfig = Pick<Config, 'langfuse' | 'otlpEndpoint' | 'traceContent'>

const SCOPE = 'wakeful'
/** Spans over batches have a scope of their own, so that they can be told from those about one conversation. */
const BATCH_SCOPE = 'wakeful.engine'
const QUEUE_MAX = 20_000
const EXPORT_MAX = 1_000
const EXPORT_EVERY_MS = 1_000
const EXPORT_TIMEOUT_MS = 10_000
const STOP_MAX_MS = 3_000
const SDK = [
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/context-async-hooks',
]
const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  internal: SpanKind.INTERNAL,
} as const

export async function openTracing(config: TracingConfig, version: string): Promise<Tracing> {
  if (config.langfuse !== null || config.otlpEndpoint !== null) return exporting(config, version)
  const outer = trace.getTracerProvider() as Partial<ProxyTracerProvider>
  const spans = outer.getDelegateTracer?.(SCOPE, version)
  const batches = outer.getDelegateTracer?.(BATCH_SCOPE, version)
  const stop = async () => undefined
  if (spans === undefined || batches === undefined) return { tracer: UNTRACED, stop }
  return { tracer: tracerOver(spans, batches, config.traceContent), stop }
}

async function exporting(config: TracingConfig, version: string): Promise<Tracing> {
  const [
    sdk,
    { OTLPTraceExporter },
    { resourceFromAttributes },
    { AsyncLocalStorageContextManager },
  ] = await loadSdk(config)
  const batched = ({ url, headers }: Target) =>
    new sdk.BatchSpanProcessor(
      new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_TIMEOUT_MS }),
      {
        maxQueueSize: QUEUE_MAX,
        maxExportBatchSize: EXPORT_MAX,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      },
    )
  const spanProcessors: SpanProcessor[] = []
  if (config.otlpEndpoint !== null) spanProcessors.push(batched(otlp(config.otlpEndpoint)))
  if (config.langfuse !== null)
    spanProcessors.push(conversations(batched(langfuse(config.langfuse))))
  const provider = new sdk.NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': SCOPE, 'service.version': version }),
    spanProcessors,
  })
  // An agent's own spans belong under its turn's, so the rest of the process is told, unless it has its own.
  const contexts = new AsyncLocalStorageContextManager().enable()
  const ownContexts = context.setGlobalContextManager(contexts)
  const ownProvider = trace.setGlobalTracerProvider(provider)
  return {
    tracer: tracerOver(
      provider.getTracer(SCOPE, version),
      provider.getTracer(BATCH_SCOPE, version),
      config.traceContent,
    ),
    async stop() {
      await withinMs(STOP_MAX_MS, provider.shutdown())
      if (ownProvider) trace.disable()
      if (ownContexts) context.disable()
    },
  }
}

/** Optional peers: most never trace, and they are 28 MB. */
async function loadSdk({ langfuse }: TracingConfig) {
  try {
    return await Promise.all([
      import('@opentelemetry/sdk-trace-node'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/context-async-hooks'),
    ])
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    const asked = langfuse === null ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'LANGFUSE_PUBLIC_KEY'
    throw new ConfigError(
      `${asked}: asks for tracing, whose packages are not installed: npm install ${SDK.join(' ')}`,
    )
  }
}

interface Target {
  readonly url: string
  readonly headers: Record<string, string>
}

function otlp(endpoint: string): Target {
  return { url: under(endpoint, 'v1/traces'), headers: {} }
}

/** Version 4 of the ingestion shows a trace at once instead of after minutes. */
function langfuse({ baseUrl, publicKey, secretKey }: NonNullable<Config['langfuse']>): Target {
  const credentials = Buffer.from(`${publicKey}:${secretKey}`).toString('base64')
  return {
    url: under(baseUrl, 'api/public/otel/v1/traces'),
    headers: { authorization: `Basic ${credentials}`, 'x-langfuse-ingestion-version': '4' },
  }
}

const under = (base: string, path: string) => `${base.replace(/\/+$/, '')}/${path}`

/** Leaves out the spans over batches: each would be a trace of its own in a list of conversations. */
function conversations(inner: SpanProcessor): SpanProcessor {
  return {
    onStart: (span, parent) => inner.onStart(span, parent),
    onEnd(span: ReadableSpan) {
      if (span.instrumentationScope.name !== BATCH_SCOPE) inner.onEnd(span)
    },
    forceFlush: () => inner.forceFlush(),
    shutdown: () => inner.shutdown(),
  }
}

/** A collector that is away must not hold up a stop; what it did not take is lost, as spans may be. */
async function withinMs(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((done) => {
    timer = setTimeout(done, ms)
  })
  await Promise.allSettled([Promise.race([work, limit])])
  clearTimeout(timer)
}

function tracerOver(spans: OtelTracer, batches: OtelTracer, content: boolean): Tracer {
  return {
    on: true,
    content,
    start(name, options = {}) {
      const parent = contextOf(options)
      const span = (options.batch === true ? batches : spans).startSpan(
        name,
        {
          kind: KINDS[options.kind ?? 'internal'],
          attributes: present(options.attributes ?? {}),
          ...(options.startedMs === undefined ? {} : { startTime: options.startedMs }),
        },
        parent,
      )
      return new LiveSpan(span, parent)
    },
  }
}

function contextOf({ parent }: SpanOptions): Context {
  if (parent === undefined) return context.active()
  const found = carried(parent)
  if (found === null) return ROOT_CONTEXT
  const { traceId, spanId, sampled, state } = found
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(state === '' ? {} : { traceState: createTraceState(state) }),
  })
}

function present(attributes: Attributes): Record<string, string | number | boolean> {
  const known: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) known[name] = value
  return known
}

class LiveSpan implements Span {
  readonly #span: OtelSpan
  readonly #parent: Context
  #over = false

  constructor(span: OtelSpan, parent: Context) {
    this.#span = span
    this.#parent = parent
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags, traceState } = this.#span.spanContext()
    const sampled = (traceFlags & TraceFlags.SAMPLED) !== 0
    return carry({ traceId, spanId, sampled, state: traceState?.serialize() ?? '' })
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(present(attributes))
  }

  fail(text: string): void {
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: text })
  }

  /** May be called twice. */
  end(): void {
    if (this.#over) return
    this.#over = true
    this.#span.end()
  }

  run<T>(work: () => T): T {
    return context.with(trace.setSpan(this.#parent, this.#span), work)
  }
}
