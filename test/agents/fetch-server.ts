/** A handler of web-standard requests on plain `http`. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

export interface FetchServer {
  readonly url: string
  stop(): Promise<void>
}

export async function serveFetch(
  fetch: (request: Request) => Promise<Response>,
): Promise<FetchServer> {
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/' } = request
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ])
    const body = method === 'GET' ? null : (Readable.toWeb(request) as ReadableStream)
    const made = { method, headers, body, duplex: 'half' }
    const answer = await fetch(new Request(`http://here${url}`, made as RequestInit))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    stop: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}
