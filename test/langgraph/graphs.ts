/** What the tests of LangGraph agents share: a state, small graphs, and looks into the tables. */
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import {
  effectsChannel,
  type GraphEffect,
  type GraphEvent,
} from '../../packages/langgraph/src/index.ts'
import { GraphSaver } from '../../packages/langgraph/src/saver.ts'
import type { World } from '../setup/worlds.ts'

export const KEY = 'ann:graph:main'

export const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  event: Annotation<GraphEvent>(),
  effects: effectsChannel,
  seen: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
})
export type Seen = typeof State.State
export type Change = typeof State.Update

export const say = (content: string): GraphEffect => ({
  type: 'send_message',
  payload: { content },
})

export function oneNode(node: (state: Seen) => Change | Promise<Change>) {
  return new StateGraph(State).addNode('only', node).addEdge(START, 'only').addEdge('only', END)
}

export async function sent(made: Pick<World, 'query'>): Promise<string[]> {
  const rows = await made.query<{ payload: string }>(
    "select payload from wakeful.effects where type = 'send_message' order by position",
  )
  return rows.map((row) => (JSON.parse(row.payload) as { content: string }).content)
}

export async function count(made: World, table: string): Promise<number> {
  const [row] = await made.query<{ n: number }>(`select count(*)::int as n from wakeful.${table}`)
  return row?.n ?? 0
}

export async function turns(made: Pick<World, 'query'>) {
  return made.query<{
    event_seq: number
    status: string
    error: string | null
    checkpoint_id: string | null
  }>(
    'select event_seq, status, error, checkpoint_id from wakeful.turns order by event_seq, attempt',
  )
}

/** The root values of the session's newest checkpoint, read as any other tool would. */
export async function values(made: World, key = KEY): Promise<Record<string, unknown>> {
  const tuple = await new GraphSaver(made.app.store.db).getTuple({
    configurable: { thread_id: key },
  })
  return tuple?.checkpoint.channel_values ?? {}
}

export async function lines(made: World, ...texts: string[]): Promise<void> {
  for (const text of texts) {
    await made.say(KEY, text)
    await made.settle()
  }
}
