/** A baker's helper on the OpenAI Agents SDK: it remembers, looks in again, sets alarms, and orders flour when it is allowed to. */
import { Agent, Runner, tool } from '@openai/agents-core'
import { OpenAIChatCompletionsModel } from '@openai/agents-openai'
import OpenAI from 'openai'
import { openAiAgent } from 'wakeful/openai-agents'

/** Read at each turn. Any endpoint that speaks OpenAI's `/chat/completions` will do. */
function model() {
  const { WAKEFUL_MODEL_URL: baseURL, WAKEFUL_MODEL: name, WAKEFUL_MODEL_KEY: apiKey } = process.env
  if (!baseURL || !name) throw new Error('set WAKEFUL_MODEL_URL and WAKEFUL_MODEL')
  return new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: apiKey ?? 'none' }), name)
}

const helper = openAiAgent(
  ({ turn, tools }) => {
    const orderFlour = tool({
      name: 'order_flour',
      description: 'Order flour.',
      parameters: {
        type: 'object',
        properties: { kilos: { type: 'number' } },
        required: ['kilos'],
        additionalProperties: false,
      },
      strict: true,
      needsApproval: true,
      execute: async ({ kilos }) => {
        // Kept with the turn, or not at all.
        turn.state.ordered = Number(turn.state.ordered ?? 0) + kilos
        return `${kilos} kg are ordered.`
      },
    })
    return new Agent({
      name: 'Helper',
      model: model(),
      instructions: 'You help a hobby baker. Be brief. Schedule a nudge where it helps.',
      tools: [...tools, orderFlour],
    })
  },
  { runner: new Runner({ tracingDisabled: true }) },
)

export default { agents: { helper } }
