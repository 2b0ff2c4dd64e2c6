/** A chat endpoint that answers as it is told, and remembers what it was asked. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface AskedModel {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: {
    model: string
    stream: boolean
    messages: { role: string; content: string }[]
  }
}

export type Say = (response: ServerResponse, asked: AskedModel) => void

export interface FakeModel {
  readonly url: string
  readonly asked: AskedModel[]
  /** One for each request, in turn; the last one again and again. */
  answers: Say[]
  stop(): Promise<void>
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Say =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body))

export const saying = (content: unknown, more: { finish_reason?: string } = {}): Say =>
  json(200, {
    model: 'tiny-2026',
    choices: [
      { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', ...more },
    ],
    usage: { prompt_tokens: 12, completion_tokens: 34 },
  })

export async function fakeModel(...answers: Say[]): Promise<FakeModel> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as AskedModel['body']
      const asked = { path: request.url ?? '', headers: request.headers, body }
      made.asked.push(asked)
      const answer = made.answers.length > 1 ? made.answers.shift() : made.answers[0]
      answer?.(response, asked)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const made: FakeModel = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: [],
    answers,
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
  return made
}
