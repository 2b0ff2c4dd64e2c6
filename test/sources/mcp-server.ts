/** A small MCP server with events, as the draft has them: a challenge while it is asked, signed calls, a log that can be polled. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { webhookSignature } from '../../src/core/calls/signature.ts'
import { newId } from '../../src/core/ids.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'

const closing: (() => Promise<unknown>)[] = []
afterEachTest(async () => {
  for (const close of closing.splice(0)) await close()
})

const ANY = z.looseObject({})
export const SUBSCRIPTION = 'sub-1'

export interface Told {
  readonly eventId: string
  readonly data: Record<string, unknown>
}

export interface OtherServer {
  readonly url: string
  /** What was asked: method and params. */
  readonly asked: { method: string; params: Loose; authorization: string | undefined }[]
  /** Of the subscription it was last asked for. */
  delivery: { url: string; secret: string } | null
  challenges: number
  ttlMs: number | null
  /** Called after the challenge and before the question is answered. */
  between: () => Promise<void>
  /** What `events/poll` answers. */
  readonly log: Told[]
  /** Posts to the subscriber, signed, and answers with the status. */
  post(
    body: object,
    more?: { id?: string; secret?: string; subscription?: string; at?: Date },
  ): Promise<Response>
  tell(told: Told): Promise<number>
}

/** `now`: the time it signs with. `reach`: where the address it was given leads. */
export async function otherServer(
  now: () => Date,
  reach: (url: string) => string,
): Promise<OtherServer> {
  let authorization: string | undefined
  const made: OtherServer = {
    ...{ url: '', asked: [], delivery: null, challenges: 0, ttlMs: 3_600_000, log: [] },
    between: async () => undefined,
    async post(body, { id = newId(), secret, subscription = SUBSCRIPTION, at = now() } = {}) {
      const { delivery } = made
      if (delivery === null) throw new Error('nobody has subscribed')
      const text = JSON.stringify(body)
      const seconds = Math.floor(at.getTime() / 1000)
      return fetch(reach(delivery.url), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': webhookSignature([secret ?? delivery.secret], id, seconds, text),
          'x-mcp-subscription-id': subscription,
        },
        body: text,
      })
    },
    async tell({ eventId, data }) {
      const cursor = `after ${eventId}`
      const event = { eventId, name: 'issue.opened', timestamp: now().toISOString(), data, cursor }
      return (await made.post(event, { id: eventId })).status
    },
  }
  const answers: Record<string, (params: Loose) => Promise<Loose> | Loose> = {
    'events/list': ({ cursor }) =>
      cursor === undefined
        ? { events: [definition('other.event')], nextCursor: 'page 2' }
        : { events: [definition('issue.opened')] },
    'events/subscribe': async ({ delivery }) => {
      made.delivery = delivery
      const challenge = newId()
      made.challenges++
      const answer = await made.post({ type: 'verification', challenge })
      const echoed = answer.ok ? ((await answer.json()) as Loose).challenge : null
      if (echoed !== challenge) throw new Error(`the challenge was answered with ${answer.status}`)
      await made.between()
      const end = made.ttlMs === null ? null : new Date(now().getTime() + made.ttlMs).toISOString()
      return { id: SUBSCRIPTION, refreshBefore: end, cursor: 'start', truncated: false }
    },
    'events/poll': ({ cursor }) => {
      const from = cursor === null ? made.log.length : Number(cursor)
      const events = made.log.slice(from, from + 2).map(({ eventId, data }) => ({
        ...{ eventId, name: 'issue.opened', timestamp: now().toISOString(), data },
      }))
      const next = from + events.length
      return {
        ...{ events, cursor: String(next), truncated: false, nextPollMs: 1000 },
        hasMore: next < made.log.length,
      }
    },
  }
  const handler = createMcpHandler(() => {
    const server = new Server(
      { name: 'other', version: '1' },
      { capabilities: { events: {} } as never },
    )
    for (const [method, answer] of Object.entries(answers))
      server.setRequestHandler(method, { params: ANY.optional() }, async (params = {}) => {
        made.asked.push({ method, params, authorization })
        return answer(params)
      })
    return server
  })
  const http = createServer(async (request, response) => {
    authorization = request.headers.authorization
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    const answer = await handler.fetch(
      new Request(`http://127.0.0.1${request.url}`, {
        ...{ method: request.method ?? 'POST', headers: headers as [string, string][] },
        ...(chunks.length > 0 ? { body: new Uint8Array(Buffer.concat(chunks)) } : {}),
      }),
    )
    response.writeHead(answer.status, [...answer.headers].flat()).end(await answer.text())
  })
  await new Promise<void>((done) => http.listen(0, '127.0.0.1', done))
  closing.push(async () => {
    http.closeAllConnections()
    await new Promise((done) => http.close(done))
  })
  return Object.assign(made, {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
  })
}

function definition(name: string) {
  return {
    ...{ name, description: name, delivery: ['webhook', 'poll'] },
    ...{ inputSchema: { type: 'object' }, payloadSchema: { type: 'object' } },
  }
}
