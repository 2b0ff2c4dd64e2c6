/** Without a receiver nothing of the SDK is loaded; inside an application that traces, its tracer is used. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { trace } from '@opentelemetry/api'
import { afterAll, expect, it } from 'vitest'
import { ensureBuilt, SHORT_LIVED } from '../process/server.ts'
import { stage } from '../setup/listening-app.ts'
import { collector } from './collector.ts'

const LOADS = fileURLToPath(new URL('loads.mjs', import.meta.url))

/** By a process of its own: this one may have loaded anything for other tests. */
async function loaded(env: Record<string, string>): Promise<string[]> {
  ensureBuilt()
  const args = [...SHORT_LIVED, LOADS, JSON.stringify(env)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as string[]
}

afterAll(() => trace.disable())

it('nothing is loaded when neither is configured, and all of it when one is', async () => {
  const seen = await collector()
  const [nothing, all] = await Promise.all([
    loaded({}),
    loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: seen.url }),
  ])
  await seen.stop()
  expect(nothing).toEqual([])
  expect(all.length).toBeGreaterThan(10)
})

it('what the application around it has registered gets the spans', async () => {
  const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = await import(
    '@opentelemetry/sdk-trace-node'
  )
  const kept = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(kept)] })
  trace.setGlobalTracerProvider(provider)
  const s = await stage('memory:')
  await s.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hi' })
  await s.settle()
  await s.stop()
  const names = kept.getFinishedSpans().map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['post_message', 'claim turns', 'turn']))
})
