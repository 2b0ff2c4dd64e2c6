/** A graph without a model that keeps a list of tasks, and asks about the first while nobody says anything. */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { effectsChannel, langGraphAgent } from 'wakeful/langgraph'

const ASK_SECONDS = 3600

const say = (content) => ({ type: 'send_message', payload: { content } })
// Kept by the database, so it survives a restart; cancelled when the person speaks first.
const askLater = () => ({
  type: 'schedule_timer',
  payload: { timer_id: 'ask', delay_seconds: ASK_SECONDS },
})

const State = Annotation.Root({
  event: Annotation(),
  effects: effectsChannel,
  tasks: Annotation({ reducer: (_, tasks) => tasks, default: () => [] }),
})

// Call your model in a node: a node that throws is run again, and says nothing until its turn has committed.
const graph = new StateGraph(State)
  .addNode('note', ({ event, tasks }) => ({
    tasks: [...tasks, event.payload.text],
    effects: [say(`Noted: ${event.payload.text}`), askLater()],
  }))
  .addNode('finish', ({ tasks }) => ({
    tasks: tasks.slice(1),
    effects: [say(`Done: ${tasks[0]}. ${tasks.length - 1} left.`)],
  }))
  .addNode('ask', ({ tasks }) => ({ effects: [say(`How is this going: ${tasks[0]}?`)] }))
  .addNode('stayQuiet', () => ({}))
  .addConditionalEdges(START, ({ event, tasks }) => {
    if (event.type === 'timer') return tasks.length > 0 ? 'ask' : 'stayQuiet'
    if (event.type !== 'user_message') return 'stayQuiet'
    return tasks.length > 0 && event.payload.text === 'done' ? 'finish' : 'note'
  })
  .addEdge('note', END)
  .addEdge('finish', END)
  .addEdge('ask', END)
  .addEdge('stayQuiet', END)

export default { agents: { tasks: langGraphAgent(graph) } }
