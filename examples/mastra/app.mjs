/** A baker's helper on Mastra: it remembers, looks in again and sets alarms. */
import { Agent } from '@mastra/core/agent'
import { mastraAgent } from 'wakeful/mastra'

/** Read at each turn. Any endpoint that speaks OpenAI's `/chat/completions` will do. */
function model() {
  const { WAKEFUL_MODEL_URL: url, WAKEFUL_MODEL: name, WAKEFUL_MODEL_KEY: apiKey } = process.env
  if (!url || !name) throw new Error('set WAKEFUL_MODEL_URL and WAKEFUL_MODEL')
  return { id: `endpoint/${name}`, url, apiKey: apiKey ?? 'none' }
}

const helper = mastraAgent(
  new Agent({
    id: 'helper',
    name: 'Helper',
    instructions: 'You help a hobby baker. Be brief. Schedule a nudge where it helps.',
    model,
  }),
)

export default { agents: { helper } }
