/**
 * A chat with a model that may also speak first: it schedules what it promises and when to look in again, and when the time has come it
 * sends a message or stays silent.
 */
import { SystemMessage } from '@langchain/core/messages'
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { RetryableError } from 'wakeful'
import { graphTools, langGraphAgent } from 'wakeful/langgraph'
import { EndpointModel } from './model.mjs'

/** What the model is shown of the conversation, from a message of the user on; the session keeps all of it. */
const TURNS_MAX = 20
const INSTRUCTIONS =
  'You are a friendly companion. Answer in a few sentences. Schedule what you promise, and a nudge where it helps.'

const model = new EndpointModel(() => ({
  url: process.env.WAKEFUL_MODEL_URL,
  key: process.env.WAKEFUL_MODEL_KEY,
  model: process.env.WAKEFUL_MODEL,
}))

// Without the channel `event` a graph finds the time, and why it runs, in its messages.
const State = Annotation.Root(MessagesAnnotation.spec)

function newest(messages) {
  const begins = messages.flatMap((message, at) => (message.type === 'human' ? [at] : []))
  return messages.slice(begins.at(-TURNS_MAX) ?? 0)
}

const graph = new StateGraph(State)
  .addNode('think', async ({ messages }, config) => {
    const tools = graphTools(config)
    const shown = [new SystemMessage(INSTRUCTIONS), ...newest(messages)]
    const answer = await model.invoke(shown, { ...config, tools })
    const isUnprompted = tools.some(({ name }) => name === 'stay_silent')
    if (!isUnprompted && answer.text.trim() === '' && answer.tool_calls.length === 0)
      throw new RetryableError({ message: 'the model had no answer' })
    return { messages: [answer] }
  })
  // What the tools set is written with the turn, or not at all.
  .addNode('act', (state, config) => new ToolNode(graphTools(config)).invoke(state, config))
  .addEdge(START, 'think')
  .addConditionalEdges(
    'think',
    ({ messages }) => (messages.at(-1).tool_calls.length > 0 ? 'act' : END),
    ['act', END],
  )
  .addEdge('act', 'think')

export default { agents: { chat: langGraphAgent(graph) } }
