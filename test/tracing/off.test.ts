/** Without a receiver nothing of the SDK is loaded; inside an application that traces, its tracer is used. */
import { createRequire } from 'node:module'
import { trace } from '@opentelemetry/api'
import { afterAll, expect, it } from 'vitest'
import { stage } from '../alarms/stage.ts'
import { collector } from './collector.ts'

const loaded = () =>
  Object.keys(createRequire(import.meta.url).cache).filter((path) =>
    /@opentelemetry\/(sdk|exporter|otlp|context|resources)/.test(path),
  )

afterAll(() => trace.disable())

it('nothing is loaded when neither is configured, and all of it when one is', async () => {
  const quiet = await stage('memory:')
  await quiet.call('POST', '/v1/sessions/ann:bot:t/messages', { text: 'hi' })
  await quiet.settle()
  await quiet.stop()
  expect(loaded()).toEqual([])

  const seen = await collector()
  const heard = await stage('memory:', { env: { OTEL_EXPORTER_OTLP_ENDPOINT: seen.url } })
  await heard.stop()
  await seen.stop()
  expect(loaded().length).toBeGreaterThan(10)
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
