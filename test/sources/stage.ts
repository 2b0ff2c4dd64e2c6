/** A server that answers as it is told and counts who came, and sources visited without a store. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SourceVisit } from '../../packages/sources/src/poll.ts'
import type { ClaimedSource } from '../../packages/sources/src/rows.ts'
import { Fetcher, type FetcherOptions } from '../../src/calls/fetcher.ts'
import type { Source } from '../../src/features/intents/source.ts'
import { afterEachTest } from '../setup/ends.ts'

export const fixture = (name: string) =>
  readFileSync(new URL(`./fixtures/${name}`, import.meta.url))

const closing: (() => Promise<void>)[] = []
afterEachTest(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface Web {
  readonly url: string
  readonly asked: { url: string; headers: IncomingMessage['headers'] }[]
  connections: number
  answer: Answer
}

export async function web(answer: Answer): Promise<Web> {
  const server = createServer((request, response) => {
    made.asked.push({ url: request.url ?? '', headers: request.headers })
    made.answer(request, response)
  })
  const made: Web = { url: '', asked: [], connections: 0, answer }
  server.on('connection', () => made.connections++)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  closing.push(
    () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  )
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(made, { url })
}

export const serve =
  (body: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(200, headers).end(body)

export function fetcher(options: Partial<FetcherOptions> = {}): Fetcher {
  const made = new Fetcher({ allowPrivate: true, timeoutMs: 5000, ...options })
  closing.push(() => made.close())
  return made
}

export interface VisitOptions {
  readonly now?: string
  readonly row?: Partial<ClaimedSource>
  readonly tickers?: readonly string[]
  readonly fetcher?: Fetcher
}

/** Polls once, as the service would. */
export async function visit(source: Source, options: VisitOptions = {}) {
  const row: ClaimedSource = {
    ...{ bucket: 0, key: source.key, etag: null, last_modified: null, told: null, failures: 0 },
    ...{ read_at: null, now: new Date(options.now ?? '2026-01-01T09:00:00Z') },
    ...options.row,
  }
  const reader = options.fetcher ?? fetcher()
  const one = new SourceVisit(source, row, new AbortController().signal, {
    fetch: (request) => reader.get(request),
    tickers: async () => options.tickers ?? [],
  })
  const signals = await source.poll(one)
  return { signals: signals ?? [], unchanged: signals === null, visit: one }
}
