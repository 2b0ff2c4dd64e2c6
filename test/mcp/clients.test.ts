/** Contract: the clients of frameworks call `schedule` over MCP, and what their model reads is the sentence that says what was set. */
import { createMCPClient } from '@ai-sdk/mcp'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent, MCPServerStreamableHttp, Runner, setTracingDisabled } from '@openai/agents-core'
import { OpenAIChatCompletionsModel } from '@openai/agents-openai'
import { generateText, stepCountIs, type ToolSet } from 'ai'
import OpenAI from 'openai'
import { afterEach, expect, it } from 'vitest'
import { type FakeModel, fakeModel } from '../agents/fake-model.ts'
import { saying, using } from '../frameworks/frameworks.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const PROMPT = 'Remind me tomorrow at nine to call the bank.'
const WISH = { name: 'bank', at: 'tomorrow at 9am', timezone: 'Europe/Berlin', note: 'the bank' }

let model: FakeModel | undefined
afterEach(() => model?.stop())

/** Runs an agent of the framework with the tools of this server; its model is at the other address. */
const CLIENTS: Readonly<Record<string, (mcp: string, model: string) => Promise<unknown>>> = {
  async 'AI SDK'(url, baseURL) {
    const client = await createMCPClient({ transport: { type: 'http', url } })
    try {
      const tools = await client.tools()
      expect(Object.keys(tools)).toHaveLength(12)
      const endpoint = createOpenAICompatible({ name: 'model', baseURL })
      await generateText({
        ...{ model: endpoint('fake-1'), tools: tools as ToolSet, prompt: PROMPT },
        stopWhen: stepCountIs(3),
      })
    } finally {
      await client.close()
    }
  },
  async 'OpenAI Agents'(url, baseURL) {
    setTracingDisabled(true)
    const server = new MCPServerStreamableHttp({ url, name: 'wakeful' })
    await server.connect()
    try {
      const client = new OpenAI({ baseURL, apiKey: 'secret' })
      const model = new OpenAIChatCompletionsModel(client, 'fake-1')
      const agent = new Agent({ name: 'helper', model, mcpServers: [server] })
      await new Runner({ tracingDisabled: true }).run(agent, PROMPT)
    } finally {
      await server.close()
    }
  },
}

eachStore('over MCP', (store) => {
  it.each(Object.keys(CLIENTS))('%s sets a schedule, and reads what was set', async (name) => {
    const w = await world(store, { bot: () => undefined }, { startAt: '2026-11-15T18:40:00Z' })
    model = await fakeModel(using('schedule', WISH), saying('I will.'))
    await CLIENTS[name]?.(`${await w.listen()}/mcp`, model.url)
    expect(model.asked).toHaveLength(2)
    expect(JSON.stringify(model.asked[0]?.body)).toContain('"schedule"')
    expect(JSON.stringify(model.asked[1]?.body.messages.at(-1))).toMatch(
      /Alarm \\+"bank\\+" is set: once at .*Next: tomorrow 09:00 Europe\/Berlin/,
    )
    expect(await w.query('select name, wake_message from wakeful.alarms')).toEqual([
      { name: 'bank', wake_message: 'the bank' },
    ])
  })
})
