/** The Claude Agent SDK, with an injected `query` that calls tools over MCP as the SDK does. */
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { claudeAgent } from '../../packages/claude-agent-sdk/src/index.ts'
import { sent, turns } from '../langgraph/graphs.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:claude:main'
const MINUTE = 60_000

interface Connectable {
  connect(transport: unknown): Promise<void>
}

interface Asked {
  readonly prompt: string
  readonly tools: readonly { name: string }[]
  readonly options: {
    readonly mcpServers: { readonly wakeful: { readonly instance: Connectable } }
    readonly allowedTools: readonly string[]
  }
}
type Step = { readonly use: string; readonly args: object } | { readonly say: string }

/** Each step is one turn of the model; a text ends the query. */
function scripted(...steps: (Step | { readonly fails: number })[]) {
  const asked: Asked[] = []
  const results: string[] = []
  async function* query({ prompt, options }: { prompt: string; options: Asked['options'] }) {
    const { instance } = options.mcpServers.wakeful
    const request = await connect(instance)
    asked.push({ prompt, options, tools: (await request('tools/list', {})).tools })
    const usage = { input_tokens: 10, cache_read_input_tokens: 2, output_tokens: 5 }
    for (let turns = 1; ; turns++) {
      const step = steps.shift() ?? { say: '' }
      if ('fails' in step) {
        yield {
          type: 'result',
          subtype: 'success',
          is_error: true,
          result: 'no',
          api_error_status: step.fails,
        }
        return
      }
      if ('say' in step) {
        yield { type: 'assistant' }
        const result = { result: step.say, usage, num_turns: turns, total_cost_usd: 0.01 }
        yield { type: 'result', subtype: 'success', is_error: false, ...result }
        return
      }
      const { content } = await request('tools/call', { name: step.use, arguments: step.args })
      results.push(content[0].text)
    }
  }
  return { query: query as never, asked, results }
}

/** A client of MCP in a few lines: the SDK's own lies in its binary. */
async function connect(instance: Connectable) {
  const [client, server] = InMemoryTransport.createLinkedPair()
  await instance.connect(server)
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
  const waiting = new Map<number, (result: any) => void>()
  client.onmessage = (message) => {
    const { id, result } = message as { id: number; result: unknown }
    waiting.get(id)?.(result)
  }
  await client.start()
  let next = 0
  const request = (method: string, params: object) =>
    // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers
    new Promise<any>((done) => {
      const id = ++next
      waiting.set(id, done)
      void client.send({ jsonrpc: '2.0', id, method, params } as never)
    })
  const clientInfo = { name: 'stub', version: '1' }
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  return request
}

eachStore('an agent of the Claude Agent SDK', (store) => {
  const lived = async (script: ReturnType<typeof scripted>) =>
    world(store, {
      claude: claudeAgent({ model: 'x', allowedTools: ['Read'] }, { query: script.query }),
    })

  it('schedules with its turn, is woken in the same conversation, and speaks by a tool', async () => {
    const script = scripted(
      { use: 'schedule', args: { name: 'oven', every: 'nonsense' } },
      { use: 'schedule', args: { name: 'oven', in: '20 minutes', note: 'the oven is hot' } },
      { say: 'I will tell you.' },
      { use: 'send_message', args: { text: 'The oven is hot!' } },
      { say: 'I have told them.' },
    )
    const made = await lived(script)
    await made.say(KEY, 'Tell me when the oven is hot.')
    await made.settle()
    expect(script.results[0]).toContain('Refused, nothing was changed')
    expect(script.results[1]).toContain('Scheduled "oven"')
    await made.advanceBy(20 * MINUTE)
    expect(await sent(made)).toEqual(['I will tell you.', 'The oven is hot!'])
    const [first, woken] = script.asked
    expect(first?.prompt).toMatch(/^\[now: Thursday 2026-01-01 00:00 UTC.*\]\nTell me when/)
    expect(woken?.prompt).toContain('<assistant>\nI will tell you.\n</assistant>')
    expect(woken?.prompt).toMatch(
      /Now:\n\[now: .*\n\[why you run: alarm "oven".*when the user wrote/,
    )
    expect(woken?.prompt).toContain('the oven is hot')
    expect(first?.options).toMatchObject({ persistSession: false, settingSources: [], tools: [] })
    expect(woken?.options.allowedTools).toEqual([
      'Read',
      ...['schedule', 'list_scheduled', 'cancel_scheduled', 'ask_user'].map(
        (name) => `mcp__wakeful__${name}`,
      ),
      'mcp__wakeful__send_message',
      'mcp__wakeful__stay_silent',
    ])
    const points = await made.query<{ metadata: string }>(
      'select metadata from wakeful.checkpoints order by created_at, checkpoint_id',
    )
    expect(JSON.parse(points[0]?.metadata ?? '').spent).toEqual({ tokens: 17, usd: 0.01, calls: 3 })
  })

  it('delivers no narration in a turn that no message began', async () => {
    const made = await lived(scripted({ say: 'NOTHING - all quiet' }, { say: 'Good morning!' }))
    for (const seconds of [60, 120]) {
      await made.call('put_timer', { session_key: KEY, timer_id: `${seconds}`, delay_seconds: 60 })
      await made.advanceBy(MINUTE)
    }
    expect(await sent(made)).toEqual([])
    const { data } = (await made.call('list_turns', { session_key: KEY })) as {
      data: { verdicts: { rule: string }[] }[]
    }
    expect(data.flatMap(({ verdicts }) => verdicts.map(({ rule }) => rule))).toEqual([
      'undecided',
      'undecided',
    ])
  })

  it('gives up at once where no retry helps, and tries a busy endpoint again', async () => {
    const made = await lived(scripted({ fails: 401 }, { fails: 529 }, { say: 'Here.' }))
    await made.say(KEY, 'one')
    await made.say(KEY, 'two')
    await made.advanceBy(MINUTE)
    expect((await turns(made)).map(({ status }) => status)).toEqual([
      'failed',
      'retrying',
      'committed',
    ])
    expect(await sent(made)).toEqual(['Sorry, something went wrong. Please try again.', 'Here.'])
  })
})
