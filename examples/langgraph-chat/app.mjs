/**
 * A chat with a model that may also speak first: after each answer it asks to be woken again, and when
 * the user stayed silent the model decides whether there is something worth saying.
 */
import { AIMessage, SystemMessage } from '@langchain/core/messages'
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { RetryableError } from 'wakeful'
import { effectsChannel, langGraphAgent } from 'wakeful/langgraph'
import { EndpointModel } from './model.mjs'

const FOLLOW_UP_SECONDS = 600
/** What the model is shown of the conversation; the session keeps all of it. */
const MESSAGES_MAX = 40
const PERSONA = 'You are a friendly companion. Answer in a few sentences.'
const SILENCE =
  'The user has not written for a while. If a short follow-up would help them, call send_message, otherwise stay_silent.'
const TOOLS = [
  {
    name: 'send_message',
    description: 'Writes to the user, who has not written to you.',
    parameters: {
      type: 'object',
      properties: { text: { type: 'string' } },
      required: ['text'],
    },
  },
  {
    name: 'stay_silent',
    description: 'Sends nothing this time. Say why in a few words.',
    parameters: { type: 'object', properties: { reason: { type: 'string' } } },
  },
]

const model = new EndpointModel(() => ({
  url: process.env.WAKEFUL_MODEL_URL,
  key: process.env.WAKEFUL_MODEL_KEY,
  model: process.env.WAKEFUL_MODEL,
}))

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  event: Annotation(),
  effects: effectsChannel,
})

/** `event.prompt` is the time, the person's zone, and why the graph runs. */
const think = ({ messages, event }, instructions, options) => {
  const system = new SystemMessage(`${instructions}\n${event.prompt}`)
  return model.invoke([system, ...messages.slice(-MESSAGES_MAX)], options)
}
const say = (content) => ({ type: 'send_message', payload: { content } })

const graph = new StateGraph(State)
  .addNode('answer', async (state, config) => {
    const { text } = await think(state, PERSONA, config)
    if (text.trim() === '') throw new RetryableError({ message: 'the model had no answer' })
    const followUp = {
      type: 'schedule_timer',
      payload: { timer_id: 'follow-up', delay_seconds: FOLLOW_UP_SECONDS },
    }
    // An AI message alone would be the reply; beside another effect it has to be said.
    return { messages: [new AIMessage(text)], effects: [say(text), followUp] }
  })
  .addNode('followUp', async (state, config) => {
    // A word in a text decides nothing: the model sends a message or stays silent by a tool call.
    const answer = await think(state, `${PERSONA} ${SILENCE}`, { ...config, tools: TOOLS })
    const [call] = answer.tool_calls
    if (call?.name === 'stay_silent')
      return { effects: [{ type: 'stay_silent', payload: { reason: call.args.reason } }] }
    const text = call?.name === 'send_message' ? String(call.args.text ?? '').trim() : ''
    // Without a call, Wakeful records what the model wrote, and does not deliver it.
    if (text === '') return { messages: [answer] }
    return { messages: [new AIMessage(text)], effects: [say(text)] }
  })
  .addConditionalEdges(
    START,
    ({ event }) => (event.type === 'user_message' ? 'answer' : 'followUp'),
    ['answer', 'followUp'],
  )
  .addEdge('answer', END)
  .addEdge('followUp', END)

export default { agents: { chat: langGraphAgent(graph) } }
