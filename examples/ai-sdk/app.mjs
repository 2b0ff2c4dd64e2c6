/** A baker's helper on the AI SDK: it remembers, looks in again, sets alarms, and orders flour when it is allowed to. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { jsonSchema, ToolLoopAgent, tool } from 'ai'
import { aiSdkAgent } from 'wakeful/ai-sdk'

/** Read at each turn. */
function model() {
  const { WAKEFUL_MODEL_URL: baseURL, WAKEFUL_MODEL: name, WAKEFUL_MODEL_KEY: apiKey } = process.env
  if (!baseURL || !name) throw new Error('set WAKEFUL_MODEL_URL and WAKEFUL_MODEL')
  return createOpenAICompatible({ name: 'endpoint', baseURL, apiKey })(name)
}

const helper = aiSdkAgent(({ turn, tools }) => {
  const orderFlour = tool({
    description: 'Order flour.',
    inputSchema: jsonSchema({ type: 'object', properties: { kilos: { type: 'number' } } }),
    needsApproval: true,
    execute: async ({ kilos }) => {
      // Kept with the turn, or not at all.
      turn.state.ordered = Number(turn.state.ordered ?? 0) + kilos
      return `${kilos} kg are ordered.`
    },
  })
  return new ToolLoopAgent({
    model: model(),
    instructions: 'You help a hobby baker. Be brief. Schedule a nudge where it helps.',
    tools: { ...tools, order_flour: orderFlour },
  })
})

export default { agents: { helper } }
