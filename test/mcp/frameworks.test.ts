/** `wakeful/tools`: the same tools through LangChain and as plain objects, in process and over HTTP. */
import { convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { expect, it } from 'vitest'
import { langchainTools } from '../../packages/langgraph/src/index.ts'
import { aiTools, type ToolSource } from '../../packages/tools/src/index.ts'
import { Refusal } from '../../src/core/errors.ts'
import { eachStore, type StoreUnderTest } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const WISH = { schedule: 'tomorrow at 9am', timezone: 'Europe/Berlin', wake_message: 'Up' }

async function sources(store: StoreUnderTest): Promise<[string, ToolSource][]> {
  // The tools over HTTP tell times by this machine's clock, so the server's must be near it.
  const w = await world(store, { bot: () => undefined }, { startAt: new Date().toISOString() })
  return [
    ['app', w],
    ['url', { baseUrl: await w.listen() }],
  ]
}

eachStore('wakeful/tools', (store) => {
  it('are LangChain tools: words for the model, data beside them', async () => {
    for (const [name, source] of await sources(store)) {
      const tools = await langchainTools(source, { actAs: `ann-${name}` })
      const byName = new Map(tools.map((tool) => [tool.name, tool]))
      const set = byName.get('set_alarm')
      const list = byName.get('list_alarms')
      if (set === undefined || list === undefined) throw new Error('tools are missing')
      expect(convertToOpenAITool(set).function.parameters).toMatchObject({
        required: ['wake_message'],
        properties: { schedule: { type: 'string' } },
        additionalProperties: false,
      })
      expect(await set.invoke(WISH)).toMatch(/^Alarm set for .* 09:00 Europe\/Berlin, in /)
      const message = await list.invoke({
        id: 'call_1',
        name: 'list_alarms',
        args: {},
        type: 'tool_call',
      })
      expect(message).toMatchObject({
        tool_call_id: 'call_1',
        artifact: { ok: true, data: { data: [{ wake_message: 'Up' }] } },
      })
      // A refusal is told, not thrown: the agent goes on and corrects itself.
      expect(await set.invoke({ label: 7 })).toContain('- wake_message: is required\n')
    }
  })

  it('are plain objects for the AI SDK', async () => {
    for (const [name, source] of await sources(store)) {
      const tools = aiTools(source, { actAs: `bob-${name}`, only: ['set_alarm', 'get_alarm'] })
      expect(Object.keys(tools)).toEqual(['set_alarm', 'get_alarm'])
      const schema = tools.set_alarm?.inputSchema
      expect(schema).toMatchObject({ [Symbol.for('vercel.ai.schema')]: true, validate: undefined })
      expect(schema?.jsonSchema).toMatchObject({ type: 'object', required: ['wake_message'] })
      const set = await tools.set_alarm?.execute(WISH)
      expect(set).toMatchObject({ ok: true, data: { status: 'active' } })
      const { id } = (set?.ok ? set.data : {}) as { id: string }
      expect(await tools.get_alarm?.execute({ id })).toMatchObject({ ok: true, data: { id } })
      expect(await tools.get_alarm?.execute({ id: 'x' })).toMatchObject({
        ok: false,
        problem: { status: 404 },
      })
      const foreign = aiTools(source, { actAs: 'eve' })
      expect(await foreign.get_alarm?.execute({ id })).toMatchObject({ problem: { status: 404 } })
    }
  })

  it('say which tools there are when asked for others, and refuse an owner that is none', async () => {
    const [[, app] = ['', { baseUrl: '' }]] = await sources(store)
    expect(() => aiTools(app, { only: ['make_coffee'] })).toThrow(/make_coffee; there are schedule/)
    expect(() => aiTools(app, { actAs: 'a b' })).toThrow(Refusal)
  })
})
