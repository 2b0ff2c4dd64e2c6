/** A helper on OpenAI's own SDK: a function agent with the tools of its turn. */
import OpenAI from 'openai'
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
  const client = new OpenAI({ baseURL, apiKey: apiKey ?? 'none' })
  const talk = turn.state.talk ?? []
  // The time, why the turn runs, and what the person wrote or what was scheduled.
  const prompt = { role: 'user', content: await promptFor(turn) }
  const runner = client.chat.completions.runTools(
    {
      model,
      messages: [{ role: 'system', content: INSTRUCTIONS }, ...talk, prompt],
      // What they set is written with the turn, or not at all.
      tools: toolsFor.openai(turn),
    },
    { signal: turn.signal },
  )
  const text = (await runner.finalContent()) ?? ''
  // The answer to a message; in any other turn only send_message speaks.
  conclude(turn, text)
  turn.state.talk = [...talk, prompt, { role: 'assistant', content: text }].slice(-REMEMBERED)
})

export default { agents: { helper } }
