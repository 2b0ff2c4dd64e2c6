/** MCP Events as a stream: told on the open request, from a cursor, over HTTP and stdio, until it is revoked or closed. */
import { PassThrough } from 'node:stream'
import { type Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { serveMcp } from '../../packages/mcp-stdio/src/stdio.ts'
import { operations } from '../../src/app/operations.ts'
import { OpenStreams } from '../../src/mcp/event-stream.ts'
import { eventOperations } from '../../src/mcp/events.ts'
import { toolsOf } from '../../src/mcp/tool.ts'
import { ADMIN_KEY, openStage } from '../identity/stage.ts'
import { connect } from '../mcp/stage.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const MINUTE = 60_000
const ANY = z.looseObject({})

const ends: (() => Promise<unknown>)[] = []
afterEachTest(async () => {
  for (const end of ends.splice(0)) await end()
})

/** Opens a stream and gathers what is told on it. */
function follow(client: Client, params: object) {
  const told: { what: string; params: Loose }[] = []
  client.fallbackNotificationHandler = async ({ method, params }) => {
    told.push({ what: method.replace('notifications/events/', ''), params })
  }
  const controller = new AbortController()
  const ended = client
    .request({ method: 'events/stream', params } as never, ANY, { signal: controller.signal })
    .then(
      (result) => ({ result, error: null }),
      (error: unknown) => ({ result: null, error }),
    )
  const events = () => told.filter(({ what }) => what === 'event').map((each) => each.params)
  return { told, events, ended, stop: () => controller.abort() }
}

eachStore('events as a stream', (store) => {
  const get = sharedStage(store)

  it.each(['legacy', 'auto'] as const)(
    'tells of each alarm as it comes, over HTTP (%s)',
    async (mode) => {
      const s = get()
      const transport = new StreamableHTTPClientTransport(new URL(`${s.url}/mcp`))
      const { client } = await connect(transport, mode)
      const { told, events, stop } = follow(client, { name: 'alarm.due', cursor: null })
      await until('it is active', () => told[0]?.what === 'active')
      const set = await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' })
      await s.advanceBy(MINUTE)
      await until('the alarm was told', () => events().length === 1)
      expect(events()[0]).toMatchObject({
        name: 'alarm.due',
        data: { alarm_id: set.id },
        _meta: { 'io.modelcontextprotocol/subscriptionId': expect.anything() },
      })
      stop()
      // From where it was cut off: what came meanwhile, and nothing again.
      const { cursor } = events()[0]
      const later = await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' })
      await s.advanceBy(MINUTE)
      const again = follow(client, { name: 'alarm.due', cursor })
      await until('the second was told', () => again.events().length === 1)
      expect(again.events()[0].data.alarm_id).toBe(later.id)
      again.stop()
    },
  )

  it('tells over stdio, too', async () => {
    const s = get()
    const [input, output] = [new PassThrough(), new PassThrough()]
    const streams = new OpenStreams()
    const served = serveMcp({
      ...{ tools: toolsOf(operations), events: eventOperations(operations), version: '0', streams },
      door: s.app.door({
        ...{ role: 'agent', userId: 'ann', ownerDid: null, agentId: null, keyId: null },
        actAs: false,
      }),
      ...{ input, output, onError: () => undefined },
    })
    ends.push(() => served.close())
    const lines: Loose[] = []
    output.on('data', (chunk: Buffer) => {
      for (const line of String(chunk).split('\n')) if (line !== '') lines.push(JSON.parse(line))
    })
    const say = (message: object) =>
      input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    const info = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    say({ id: 1, method: 'initialize', params: info })
    await until('it is there', () => lines.find(({ id }) => id === 1))
    say({ method: 'notifications/initialized' })
    say({ id: 7, method: 'events/stream', params: { name: 'alarm.due', cursor: null } })
    const heard = (what: string) =>
      lines.find(({ method }) => method === `notifications/events/${what}`)?.params
    await until('it is active', () => heard('active'))
    await s.set({ kind: 'once', delay_seconds: 60, agent_id: 'bot' }, { 'wakeful-act-as': 'ann' })
    await s.advanceBy(MINUTE)
    const told = await until('the alarm was told', () => heard('event'))
    expect(told).toMatchObject({
      data: { user_id: 'ann' },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 7 },
    })
    streams.close()
    await until('it has ended', () => lines.find(({ id }) => id === 7))
  })

  it('rule 36: ends with its key, and with the process', async () => {
    const s = await openStage(await store.database())
    ends.push(() => s.stop())
    const opened = async () => {
      const { id, key } = await s.key({ role: 'agent', user_id: 'ann' })
      const transport = new StreamableHTTPClientTransport(new URL(`${s.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${key}` } },
      })
      const { client } = await connect(transport)
      const stream = follow(client, { name: 'alarm.due', cursor: null })
      await until('it is active', () => stream.told.length > 0)
      return { id, ...stream }
    }
    const [one, two] = [await opened(), await opened()]
    await s.call(ADMIN_KEY, 'DELETE', `/v1/keys/${one.id}`)
    expect((await one.ended).result).toMatchObject({ cursor: expect.any(String) })
    await s.stop()
    await two.ended
  })
})
