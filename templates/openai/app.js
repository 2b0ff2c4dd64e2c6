/** A helper on OpenAI's SDK. What it schedules is written with its answer, or not at all. */
import OpenAI from 'openai'
import { agent } from 'wakeful'
import { conclude, promptFor, toolsFor } from 'wakeful/tools'

const INSTRUCTIONS = 'You are a helpful assistant. Be brief. Schedule what you promise.'
const REMEMBERED = 40

const helper = agent(async (turn) => {
  // Read at each turn. Any endpoint that speaks OpenAI's `/chat/completions` will do.
  const {
    MODEL_URL = 'https://api.openai.com/v1',
    MODEL = 'gpt-5-mini',
    MODEL_KEY = 'none',
  } = process.env
  const client = new OpenAI({ baseURL: MODEL_URL, apiKey: MODEL_KEY })
  const talk = turn.state.talk ?? []
  // The time, why the turn runs, and what the person wrote or what was scheduled.
  talk.push({ role: 'user', content: await promptFor(turn) })
  const runner = client.chat.completions.runTools(
    {
      model: MODEL,
      messages: [{ role: 'system', content: INSTRUCTIONS }, ...talk],
      tools: toolsFor.openai(turn),
    },
    { signal: turn.signal },
  )
  const text = (await runner.finalContent()) ?? ''
  // The answer to a message; in any other turn only the tool send_message speaks.
  conclude(turn, text)
  turn.state.talk = [...talk, { role: 'assistant', content: text }].slice(-REMEMBERED)
})

export default { agents: { helper } }
