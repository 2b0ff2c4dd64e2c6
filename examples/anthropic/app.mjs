/** A helper on Anthropic's own SDK: a function agent with the tools of its turn. */
import Anthropic from '@anthropic-ai/sdk'
import { agent } from 'wakeful'
import { conclude, promptFor, toolsFor } from 'wakeful/tools'

const REMEMBERED = 40
const INSTRUCTIONS = 'You help a hobby baker. Be brief. Schedule a nudge where it helps.'

const helper = agent(async (turn) => {
  const {
    WAKEFUL_MODEL_URL: baseURL,
    WAKEFUL_MODEL: model,
    WAKEFUL_MODEL_KEY: apiKey,
  } = process.env
  const client = new Anthropic({ baseURL, apiKey: apiKey ?? 'none' })
  const talk = turn.state.talk ?? []
  // The time, why the turn runs, and what the person wrote or what was scheduled.
  const prompt = { role: 'user', content: await promptFor(turn) }
  const answer = await client.beta.messages.toolRunner(
    {
      model,
      max_tokens: 4096,
      system: INSTRUCTIONS,
      messages: [...talk, prompt],
      // What they set is written with the turn, or not at all.
      tools: toolsFor.anthropic(turn),
    },
    { signal: turn.signal },
  )
  const text = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  // The answer to a message; in any other turn only send_message speaks.
  conclude(turn, text)
  const said = text === '' ? [] : [{ role: 'assistant', content: text }]
  turn.state.talk = [...talk, prompt, ...said].slice(-REMEMBERED)
})

export default { agents: { helper } }
