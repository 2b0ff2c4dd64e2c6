/** `wakeful import langgraph`: the crons of a server that speaks LangGraph's API, checked before anything is written, written once. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@langchain/langgraph-sdk'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCron } from '../../packages/cli/src/import-langgraph.ts'
import { RawJson } from '../../packages/exact-json/src/index.ts'
import { type Live, openLive } from '../sessions/live.ts'
import { wakeful } from './stage.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const ASSISTANT = 'fe096781-5601-53d2-b2f6-0d3403f7e9ca'

const CRON = {
  cron_id: '7f6b7c1e-0000-4000-8000-000000000001',
  assistant_id: ASSISTANT,
  thread_id: null,
  end_time: null,
  schedule: '0 9 * * 1',
  timezone: 'Europe/Berlin',
  enabled: true,
  on_run_completed: 'delete',
  payload: { input: { n: 12345678901234567890n }, stream_mode: ['values'], webhook: null },
  metadata: { team: 'blue' },
  user_id: 'ann',
}
/** As it comes over the wire. */
const wire = (value: unknown) =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? `#${each}#` : each)).replaceAll(
    /"#(\d+)#"/g,
    '$1',
  )
const read = (
  change: Partial<Record<keyof typeof CRON, unknown>>,
  agent: string | null = 'bot',
) => {
  const { payload, metadata, ...rest } = { ...CRON, ...change }
  const opaque = { payload: new RawJson(wire(payload)), metadata: new RawJson(wire(metadata)) }
  return readCron({ ...rest, ...opaque }, agent, NOW)
}

describe('crons', () => {
  it('become calls, digit for digit', () => {
    expect(read({})).toMatchObject({
      call: {
        operation: 'create_langgraph_cron',
        actAs: 'ann',
        idempotencyKey: `import-${CRON.cron_id}`,
        input: {
          assistant_id: 'bot',
          schedule: '0 9 * * 1',
          timezone: 'Europe/Berlin',
          input: new RawJson('{"n":12345678901234567890}'),
        },
        title: '0 9 * * 1 bot, without stream_mode, on_run_completed',
      },
    })
    expect(read({ thread_id: 't1', enabled: false, user_id: null })).toMatchObject({
      call: {
        operation: 'create_langgraph_thread_cron',
        actAs: null,
        input: { thread_id: 't1', enabled: false },
      },
    })
  })

  it('are left out where nothing is ahead of them, and wrong with all reasons', () => {
    expect(read({ end_time: '2025-06-01T00:00:00Z' })).toEqual({
      leftOut: 'its end has passed (2025-06-01T00:00:00Z)',
    })
    const foreign = { ...CRON.payload, webhook: 'https://a.example', interrupt_after: '*' }
    expect(read({ payload: foreign })).toMatchObject({
      wrong: [expect.stringMatching(/^webhook: /), expect.stringMatching(/^interrupt_after: /)],
    })
    expect(read({ schedule: '99 * * * *' })).toHaveProperty('wrong')
    expect(read({ user_id: 'no : name' })).toHaveProperty('wrong')
    expect(read({}, null)).toMatchObject({ wrong: [expect.stringContaining('--agent')] })
  })
})

describe('the command', () => {
  let house: Live
  let there: Server
  let from: string
  let crons: object[] = []
  const keys: unknown[] = []
  beforeAll(async () => {
    house = await openLive('memory:', { bot: () => undefined })
    there = createServer(async (request, response) => {
      keys.push(request.headers['x-api-key'])
      let text = ''
      for await (const chunk of request) text += chunk
      response.setHeader('content-type', 'application/json')
      if (request.url === '/runs/crons/search') {
        const { limit, offset } = JSON.parse(text)
        return response.end(wire(crons.slice(offset, offset + limit)))
      }
      const isKnown = request.url === `/assistants/${ASSISTANT}`
      return response.writeHead(isKnown ? 200 : 404).end(isKnown ? '{"graph_id":"bot"}' : '{}')
    })
    await new Promise<void>((done) => there.listen(0, '127.0.0.1', done))
    from = `http://127.0.0.1:${(there.address() as AddressInfo).port}/`
  })
  afterAll(async () => {
    await house.app.stop()
    there.close()
  })

  const run = (...more: string[]) =>
    wakeful(['import', 'langgraph', '--from', from, '--from-key', 'theirs', ...more], {
      env: { WAKEFUL_URL: house.url },
    })

  it('says what it would do, writes nothing, then writes once, page after page', async () => {
    crons = Array.from({ length: 101 }, (_, n) => ({
      ...CRON,
      cron_id: `7f6b7c1e-0000-4000-8000-${String(n).padStart(12, '0')}`,
    }))
    const dry = await run()
    expect(dry).toMatchObject({ code: 0, stderr: '' })
    expect(dry.stdout).toContain('create_langgraph_cron “0 9 * * 1 bot, without stream_mode')
    expect(dry.stdout).toContain('101 rows: 101 can be taken over')
    expect(dry.stdout).toContain('Nothing was written')
    const ann = new Client({
      apiUrl: house.url,
      apiKey: null,
      defaultHeaders: { 'wakeful-act-as': 'ann' },
    })
    expect(await ann.crons.count()).toBe(0)
    expect((await run('--write')).stdout).toContain('101 of 101 written.')
    expect((await run('--write')).stdout).toContain('101 of 101 written.')
    expect(await ann.crons.count()).toBe(101)
    expect(new Set(keys)).toEqual(new Set(['theirs']))
    const [row] = await house.query('select payload, assistant_id from wakeful.langgraph_crons')
    expect(row).toMatchObject({
      assistant_id: 'bot',
      payload: expect.stringContaining('12345678901234567890'),
    })
  })

  it('writes nothing while one is wrong, and says so where nobody answers', async () => {
    crons = [CRON, { ...CRON, assistant_id: '7f6b7c1e-0000-4000-8000-00000000ffff' }]
    const before = await house.query('select 1 from wakeful.langgraph_crons')
    const wrong = await run('--write')
    expect(wrong.code).toBe(4)
    expect(wrong.stdout).toContain('there is no assistant')
    expect(await house.query('select 1 from wakeful.langgraph_crons')).toHaveLength(before.length)
    const nobody = await wakeful(['import', 'langgraph', '--from', 'http://127.0.0.1:1'])
    expect(nobody).toMatchObject({ code: 5, stderr: expect.stringContaining('no server answers') })
    const none = await wakeful(['import', 'rows.jsonl'])
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('--as') })
  })
})
