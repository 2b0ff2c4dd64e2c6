/**
 * A companion without a model: it remembers what you work on, answers, and checks in when you fall
 * silent. The graph's state (the task, how often it asked, how much you finished) lives in the session.
 */
import { Annotation, END, START, StateGraph } from '@langchain/langgraph'
import { effectsChannel, langGraphAgent } from 'wakeful/langgraph'

const CHECK_IN_SECONDS = 600
const CHECK_INS_MAX = 2

/** @param {string} content */
const say = (content) => ({ type: 'send_message', payload: { content } })
const checkInLater = () => ({
  type: 'schedule_timer',
  payload: { timer_id: 'check-in', delay_seconds: CHECK_IN_SECONDS },
})

const State = Annotation.Root({
  event: Annotation(),
  effects: effectsChannel,
  task: Annotation(),
  asked: Annotation(),
  finished: Annotation({ reducer: (before, more) => before + more, default: () => 0 }),
})

const graph = new StateGraph(State)
  .addNode('start', ({ event }) => ({
    task: event.payload.text,
    asked: 0,
    effects: [
      say(`Good luck with “${event.payload.text}”. I will look in after a while.`),
      checkInLater(),
    ],
  }))
  .addNode('finish', ({ task, finished }) => ({
    task: null,
    finished: 1,
    effects: [say(`“${task}” is done: that makes ${finished + 1}. What is next?`)],
  }))
  .addNode('checkIn', ({ task, asked }) => ({
    asked: asked + 1,
    effects: [
      say(`How is “${task}” going?`),
      ...(asked + 1 < CHECK_INS_MAX ? [checkInLater()] : []),
    ],
  }))
  .addNode('stayQuiet', () => ({}))
  .addConditionalEdges(START, ({ event, task }) => {
    if (event.type === 'timer') return task ? 'checkIn' : 'stayQuiet'
    if (event.type !== 'user_message') return 'stayQuiet'
    return task && /^done\b/i.test(event.payload.text) ? 'finish' : 'start'
  })
  .addEdge('start', END)
  .addEdge('finish', END)
  .addEdge('checkIn', END)
  .addEdge('stayQuiet', END)

export default { agents: { checkin: langGraphAgent(graph) } }
