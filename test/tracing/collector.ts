/** A receiver of OTLP over HTTP that decodes what it gets, as a collector or Langfuse would. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import WebSocket from 'ws'

export interface SeenSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly scope: string
  readonly kind: number
  readonly failed: boolean
  readonly attributes: Record<string, unknown>
}

export interface Collector {
  readonly url: string
  readonly spans: SeenSpan[]
  readonly requests: { path: string; headers: IncomingHttpHeaders; text: string }[]
  /** False: takes the request and never answers. */
  answers: boolean
  /** How many went away without an answer. */
  left: number
  of(traceId: string): SeenSpan[]
  stop(): Promise<void>
}

interface Value {
  stringValue?: string
  intValue?: number | string
  doubleValue?: number
  boolValue?: boolean
  arrayValue?: { values: Value[] }
}

function plain(value: Value): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(plain)
  if (value.intValue !== undefined) return Number(value.intValue)
  return value.stringValue ?? value.doubleValue ?? value.boolValue
}

interface Otlp {
  resourceSpans: {
    scopeSpans: {
      scope: { name: string }
      spans: (Omit<SeenSpan, 'attributes' | 'scope'> & {
        attributes: { key: string; value: Value }[]
        status: { code?: number }
      })[]
    }[]
  }[]
}

function decode(text: string): SeenSpan[] {
  const { resourceSpans } = JSON.parse(text) as Otlp
  return resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '', kind, status, attributes }) => ({
        ...{ name, traceId, spanId, parentSpanId, kind, scope: scope.name },
        failed: status.code === 2,
        attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)])),
      })),
    ),
  )
}

export async function collector(): Promise<Collector> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const zipped = request.headers['content-encoding'] === 'gzip'
      const text = (zipped ? gunzipSync(body) : body).toString('utf8')
      made.requests.push({ path: request.url ?? '', headers: request.headers, text })
      made.spans.push(...decode(text))
      response.on('close', () => {
        if (!response.writableEnded) made.left++
      })
      if (made.answers) response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const made: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    requests: [],
    answers: true,
    left: 0,
    of: (traceId) => made.spans.filter((span) => span.traceId === traceId),
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  return made
}

/** Connects, acknowledges the first message, and answers with its text once that is written. */
export async function hear(url: string, key: string, settle: () => Promise<void>): Promise<string> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/sessions/${key}/socket`)
  const frames: { type: string; id?: string; content?: string }[] = []
  let wake: () => void = () => undefined
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)))
    wake()
  })
  const until = async (wanted: (type: string) => boolean) => {
    for (;;) {
      const found = frames.find(({ type }) => wanted(type))
      if (found !== undefined) return found
      await new Promise<void>((done) => {
        wake = done
      })
    }
  }
  await until((type) => type === 'ready')
  await settle()
  const message = await until((type) => type === 'message' || type === 'agent_follow_up')
  socket.send(JSON.stringify({ type: 'ack', id: message.id }))
  // Frames are answered in order: the pong comes when the acknowledgement is written.
  socket.send('{"type":"ping"}')
  await until((type) => type === 'pong')
  socket.close()
  await new Promise((done) => socket.once('close', done))
  return message.content ?? ''
}
