/** A helper on Anthropic's SDK. What it schedules is written with its answer, or not at all. */
import Anthropic from '@anthropic-ai/sdk'
import { agent } from 'wakeful'
import { conclude, promptFor, toolsFor } from 'wakeful/tools'

const INSTRUCTIONS = 'You are a helpful assistant. Be brief. Schedule what you promise.'
const REMEMBERED = 40

type Talk = { role: 'user' | 'assistant'; content: string }[]

const helper = agent<{ talk: Talk }>(async (turn) => {
  // Read at each turn.
  const {
    MODEL_URL = 'https://api.anthropic.com',
    MODEL = 'claude-sonnet-4-5',
    MODEL_KEY = 'none',
  } = process.env
  const client = new Anthropic({ baseURL: MODEL_URL, apiKey: MODEL_KEY })
  const talk: Talk = turn.state.talk ?? []
  // The time, why the turn runs, and what the person wrote or what was scheduled.
  talk.push({ role: 'user', content: await promptFor(turn) })
  const answer = await client.beta.messages.toolRunner(
    {
      model: MODEL,
      max_tokens: 4096,
      system: INSTRUCTIONS,
      messages: talk,
      tools: toolsFor.anthropic(turn),
    },
    { signal: turn.signal },
  )
  const text = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  // The answer to a message; in any other turn only the tool send_message speaks.
  conclude(turn, text)
  // The API takes no empty message.
  if (text !== '') talk.push({ role: 'assistant', content: text })
  turn.state.talk = talk.slice(-REMEMBERED)
})

export default { agents: { helper } }
