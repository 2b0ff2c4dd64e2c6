/** MCP over streamable HTTP with a real client: the tools of the contract, errors a model can act on, the door's guards. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, it } from 'vitest'
import { eachStore } from '../setup/stores.ts'
import { type World, world } from '../setup/worlds.ts'
import { connect } from './stage.ts'

const START = '2026-11-15T18:40:00Z'
const ZONE = { timezone: 'Europe/Berlin' }
const BERLIN = { timezone: 'Europe/Berlin', wake_message: 'Call the bank' }

async function town(store: Parameters<typeof world>[0], env: Record<string, string> = {}) {
  const w = await world(store, { bot: () => undefined }, { startAt: START, env })
  return { w, url: await w.listen() }
}

function client(url: string, headers: Record<string, string> = {}, query = '') {
  return connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit: { headers } }),
  )
}

async function alarmRows(w: World): Promise<number> {
  const [row] = await w.query<{ n: number }>('select count(*)::int as n from wakeful.alarms')
  return row?.n ?? -1
}

eachStore('MCP over HTTP', (store) => {
  it('shows twelve tools in at most 20 kB, and schedule says what it set', async () => {
    const { url } = await town(store)
    const { client: mcp, call } = await client(url)
    const { tools } = await mcp.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      ...['schedule', 'list_scheduled', 'update_scheduled', 'cancel_scheduled'],
      ...['create_work', 'list_work', 'get_work', 'update_work', 'delete_work'],
      ...['get_preferences', 'set_preferences', 'explain'],
    ])
    expect(JSON.stringify({ tools }).length).toBeLessThanOrEqual(20_000)
    for (const { outputSchema } of tools)
      expect(outputSchema).toMatchObject({ properties: { words: { type: 'string' } } })
    const set = await call('schedule', { name: 'bank', at: 'tomorrow at 9am', ...ZONE })
    expect(set.data.words).toContain('Alarm "bank" is set: once at')
    const listed = await call('list_scheduled')
    expect(listed.data.words).toContain('1 schedule, soonest first:')
    const moved = await call('update_scheduled', { ref: 'bank', every: 'weekday at 9am' })
    expect(moved.data.words).toContain('every weekday at 09:00 (Europe/Berlin)')
    const wrong = await call('schedule', { name: 'bank', at: 'often' })
    expect(wrong.isError).toBe(true)
    expect((await call('cancel_scheduled', { ref: 'bank' })).data.words).toContain('was removed')
    expect(
      (await call('set_alarm', { delay_seconds: 60, kind: 'once', wake_message: 'x' })).isError,
    ).toBe(false)
  })

  it('lists all tools on request with schemas, hints and words for models', async () => {
    const { url } = await town(store)
    const { client: mcp } = await client(url, {}, '?tools=all')
    expect(mcp.getServerVersion()).toMatchObject({ name: 'wakeful' })
    expect(mcp.getInstructions()).toContain('timezone')
    const { tools } = await mcp.listTools()
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    for (const name of [
      'set_alarm',
      'list_alarms',
      'get_alarm',
      'cancel_alarm',
      'preview_schedule',
    ])
      expect(byName.has(name), name).toBe(true)
    expect(byName.get('set_alarm')).toMatchObject({
      inputSchema: { additionalProperties: false, required: ['wake_message'] },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: false, destructiveHint: false },
    })
    expect(byName.get('cancel_alarm')?.annotations).toMatchObject({
      destructiveHint: true,
      idempotentHint: true,
    })
    expect(byName.get('preview_schedule')?.annotations).toMatchObject({ readOnlyHint: true })
  })

  it('sets by phrase, says it in the user’s zone, lists, looks, cancels', async () => {
    const { url } = await town(store)
    const { call } = await client(url)
    const set = await call('set_alarm', { ...BERLIN, schedule: 'tomorrow at 9am', label: 'Bank' })
    expect(set.said).toContain('Alarm "Bank" set for tomorrow 09:00 Europe/Berlin, in 13 h 20 min.')
    const id = String(set.data.id)
    expect(set.said).toContain(id)
    const weekdays = await call('set_alarm', { ...BERLIN, schedule: 'every weekday at 8:30' })
    expect(weekdays.said).toContain(
      'every weekday at 08:30 (Europe/Berlin). Next: tomorrow 08:30 Europe/Berlin, in 12 h 50 min; then Tuesday 2026-11-17 08:30 Europe/Berlin; then Wednesday 2026-11-18 08:30 Europe/Berlin.',
    )
    const list = await call('list_alarms', { limit: 1, status: 'active' })
    expect(list.said).toContain('1 alarm, newest first')
    expect(list.said).toContain('call again with cursor')
    const rest = await call('list_alarms', { cursor: list.data.next_cursor })
    expect(rest.data).toMatchObject({ data: [{ id }], next_cursor: null })
    const looked = await call('get_alarm', { id })
    expect(looked.said).toContain('Alarm "Bank" set for')
    expect(JSON.parse(looked.json ?? '')).toEqual(looked.data)
    expect((await call('cancel_alarm', { id })).said).toContain('is cancelled and will not fire')
    const again = await call('cancel_alarm', { id })
    expect(again.data).toMatchObject({ status: 'cancelled' })
  })

  it('previews without setting anything', async () => {
    const { w, url } = await town(store)
    const { call } = await client(url)
    const preview = await call('preview_schedule', {
      schedule: 'every weekday at 8:30',
      timezone: 'Europe/Berlin',
    })
    expect(preview.said).toContain('It would fire tomorrow 08:30 Europe/Berlin, in 12 h 50 min')
    expect(preview.data).toMatchObject({ canonical: '30 8 * * 1-5' })
    expect(await alarmRows(w)).toBe(0)
  })

  it('tells all errors at once, by the names the model used (rules 22, 32)', async () => {
    const { w, url } = await town(store)
    const { call } = await client(url)
    const wrong = await call('set_alarm', { kind: 'cron', label: 7, colour: 'red' })
    expect(wrong.isError).toBe(true)
    expect(wrong.problem).toMatchObject({ status: 422 })
    expect(wrong.problem?.errors).toEqual(
      expect.arrayContaining([
        'wake_message: is required',
        'label: must be a string',
        'colour: is not a known field',
        'cron_expr: is required for kind cron',
      ]),
    )
    for (const error of wrong.problem?.errors ?? []) expect(wrong.said).toContain(`- ${error}`)
    expect(wrong.said).toContain('Correct this and call set_alarm again')
    expect(wrong.said).not.toMatch(/\bat .*:\d+:\d+|node_modules/)
    const vague = await call('set_alarm', { ...BERLIN, schedule: 'often' })
    expect(vague).toMatchObject({ isError: true, problem: { status: 400 } })
    const stray = await call('get_alarm', { id: '0195f5a0-0000-7000-8000-000000000001', x: 1 })
    expect(stray.problem).toMatchObject({ status: 422, errors: ['x: is not a known field'] })
    expect(await alarmRows(w)).toBe(0)
  })

  it('knows no other tools, and finds no other owner’s alarms (invariant 13)', async () => {
    const { url } = await town(store)
    const ann = await client(url, { 'wakeful-act-as': 'ann' })
    const bob = await client(url, { 'wakeful-act-as': 'bob' })
    await expect(ann.call('drop_tables')).rejects.toThrow(/there is no tool "drop_tables"/)
    const set = await ann.call('set_alarm', { ...BERLIN, schedule: 'tomorrow at 9am' })
    for (const tool of ['get_alarm', 'cancel_alarm']) {
      const foreign = await bob.call(tool, { id: set.data.id })
      expect(foreign.problem).toMatchObject({ status: 404 })
    }
    expect((await bob.call('list_alarms')).said).toBe('There are no alarms.')
    expect((await ann.call('get_alarm', { id: 'nonsense' })).problem).toMatchObject({ status: 404 })
    expect((await ann.call('get_alarm', { id: set.data.id })).data.status).toBe('active')
  })

  it('sets once for one key, whatever the retries', async () => {
    const { w, url } = await town(store)
    const { call } = await client(url)
    const wish = { ...BERLIN, schedule: 'in 20 minutes', idempotency_key: 'wish-1' }
    const [first, second] = await Promise.all([call('set_alarm', wish), call('set_alarm', wish)])
    expect(first.data.id).toBe(second.data.id)
    expect(`${first.said}${second.said}`).toContain('nothing new was set')
    expect(await alarmRows(w)).toBe(1)
  })

  it('keeps payloads digit for digit, and refuses what cannot be kept (rule 5)', async () => {
    const { url } = await town(store)
    const text = (payload: string) =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"set_alarm","arguments":{"schedule":"in 20 minutes","wake_message":"x","payload":${payload}}}}`
    const exact = '{"b":12345678901234567890,"a":1E2,"c":0.10000000000000000001}'
    const kept = await (await post(url, text(exact))).text()
    const raw = JSON.parse(kept.replace(/^[\s\S]*?data: /, '')) as {
      result: { content: { text: string }[] }
    }
    expect(raw.result.content[1]?.text).toContain(`"payload":${exact}`)
    for (const payload of ['{"a":1,"a":2}', `${'['.repeat(40)}${']'.repeat(40)}`]) {
      const refused = await (await post(url, text(payload))).text()
      expect(refused).toContain('"isError":true')
      expect(refused).toContain('"status":422')
    }
  })

  it('takes no huge, broken or bundled message, no GET and no foreign page', async () => {
    const { w, url } = await town(store)
    const { call } = await client(url)
    const huge = await call('set_alarm', { ...BERLIN, schedule: 'x'.repeat(5_000) })
    expect(huge.problem).toMatchObject({ status: 422 })
    expect((await post(url, JSON.stringify({ x: 'x'.repeat(300_000) }))).status).toBe(413)
    expect((await post(url, '{"jsonrpc":')).status).toBe(400)
    // What cannot be kept comes first, what is no JSON at all later.
    expect((await post(url, '{"params":{"a":{"x":1,"x":2},"b":oops}}')).status).toBe(400)
    expect((await post(url, '')).status).toBe(400)
    expect((await post(url, '[]')).status).toBe(400)
    expect((await post(url, '{}', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post(url, '{}', { origin: 'https://evil.example' })).status).toBe(403)
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(`${url}/mcp`, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
    expect(await alarmRows(w)).toBe(0)
  })

  it('asks for the same key as every other address', async () => {
    const key = 'k'.repeat(40)
    const { url } = await town(store, { WAKEFUL_AUTH: 'keys', WAKEFUL_ADMIN_KEY: key })
    expect((await post(url, '{}')).status).toBe(401)
    await expect(client(url, { authorization: 'Bearer wrong' })).rejects.toThrow()
    const { call } = await client(url, { authorization: `Bearer ${key}` })
    expect((await call('list_alarms')).isError).toBe(false)
  })

  it('speaks the newest revision of the protocol, too', async () => {
    const { url } = await town(store)
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`))
    const { client: mcp, call } = await connect(transport, 'auto')
    expect(mcp.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    expect((await mcp.listTools()).tools.length).toBeGreaterThanOrEqual(5)
    const set = await call('set_alarm', { ...BERLIN, schedule: 'tomorrow at 9am' })
    expect(set.said).toContain('tomorrow 09:00 Europe/Berlin')
    expect((await call('get_alarm', { id: 'x' })).problem).toMatchObject({ status: 404 })
  })

  it('negotiates the protocol’s version with old and new clients', async () => {
    const { url } = await town(store)
    for (const version of ['2025-03-26', '2025-06-18', '1999-01-01']) {
      const answer = await post(
        url,
        JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: version,
            capabilities: {},
            clientInfo: { name: 'old', version: '1' },
          },
        }),
      )
      const text = await answer.text()
      expect(text).toMatch(/"protocolVersion":"20\d\d-\d\d-\d\d"/)
      if (version !== '1999-01-01') expect(text).toContain(`"protocolVersion":"${version}"`)
    }
  })
})

function post(url: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  })
}
