/** A helper on the AI SDK. What it schedules is written with its answer, or not at all. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ToolLoopAgent } from 'ai'
import { aiSdkAgent } from 'wakeful/ai-sdk'

const INSTRUCTIONS = 'You are a helpful assistant. Be brief. Schedule what you promise.'

/** Any endpoint that speaks OpenAI's `/chat/completions`; read at each turn. */
function model() {
  const { MODEL_URL = 'https://api.openai.com/v1', MODEL = 'gpt-5-mini', MODEL_KEY } = process.env
  const settings = { name: 'endpoint', baseURL: MODEL_URL }
  return createOpenAICompatible(MODEL_KEY ? { ...settings, apiKey: MODEL_KEY } : settings)(MODEL)
}

const helper = aiSdkAgent(
  ({ tools }) => new ToolLoopAgent({ model: model(), instructions: INSTRUCTIONS, tools }),
)

export default { agents: { helper } }
