/**
 * The LangGraph agent: `langGraphAgent(graph)`. Each event of a session is one run of the graph over the
 * session's thread. Nothing the run saves or asks for is written before the turn's commit, so a turn that
 * fails leaves neither state nor message, and its retry starts from where the last good turn ended.
 *
 * A run that stops at an `interrupt()` commits there and asks its question; whatever event comes next
 * resumes it, and `interrupt()` returns that event, in the shape of the channel `event`. Of several open
 * interrupts the first is asked and answered first, then the next.
 */
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import { Annotation, Command, INTERRUPT, type Interrupt } from '@langchain/langgraph'
import { WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint'
import {
  type Agent,
  type AgentLimits,
  type LiveText,
  limitsOf,
  type TurnEvent,
  type TurnInput,
  type TurnResult,
} from '../../../src/agents/agent.ts'
import { Turn } from '../../../src/agents/function.ts'
import { digestDefault } from '../../../src/agents/reads.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import type { EventType } from '../../../src/core/session.ts'
import { type FrameworkOptions, passes } from '../../tools/src/framework-agent.ts'
import { promptOf, wordsOf } from '../../tools/src/prompt.ts'
import { type CronRun, cronRunOf } from './cron-run.ts'
import { ask, type GraphEffect, shown, strictly } from './effects.ts'
import { GraphSaver } from './saver.ts'
import { TURN } from './tools.ts'

/** What a run may save beyond the state it started from. */
const SAVED_MAX_BYTES = 16 * 1024 * 1024
const EVENT = 'event'
const MESSAGES = 'messages'
const EFFECTS = 'effects'

/** What arrives in channel `event`, and what `interrupt()` returns. */
export interface GraphEvent {
  readonly id: string
  readonly seq: number
  readonly type: EventType
  readonly payload: unknown
  /** RFC 3339: state is kept as JSON. */
  readonly created_at: string
  /** For the model: the time in the person's zone, why the graph runs, and what is to be done. */
  readonly prompt: string
  /** Set when the turn runs again before anything is written: what was wrong with the first answer. */
  readonly remark?: string
}

/** For the graph's state: nodes append to it; each turn starts with an empty list. */
export const effectsChannel = Annotation<GraphEffect[], GraphEffect | readonly GraphEffect[]>({
  reducer: (before, more) => before.concat(more),
  default: () => [],
})

/** A compiled `StateGraph` with any state. */
export interface CompiledGraph {
  readonly channels: object
  invoke(...args: never[]): Promise<unknown>
  getState(...args: never[]): Promise<unknown>
  withConfig(...args: never[]): unknown
}

/** A `StateGraph` before `compile()`. */
export interface GraphBuilder {
  compile(...args: never[]): CompiledGraph
}

export interface LangGraphOptions extends AgentLimits {
  /** A cheap check of the app's own: false ends the turn silently, and the graph does not run. */
  readonly before?: FrameworkOptions['before']
}

type RunConfig = RunnableConfig & { durability: 'exit'; context?: unknown }

/** What we use of a compiled graph, with the types its generics hide. */
interface Graph {
  readonly channels: Readonly<Record<string, unknown>>
  checkpointer: unknown
  withConfig(config: RunnableConfig): Graph
  invoke(input: unknown, config: RunConfig): Promise<unknown>
  stream(
    input: unknown,
    config: RunConfig & { streamMode: 'messages' },
  ): Promise<AsyncIterable<[BaseMessage, unknown]>>
  getState(
    config: RunnableConfig,
  ): Promise<{ readonly values: Record<string, unknown>; readonly next: readonly string[] }>
}

/** Ignores the checkpointer that the graph was compiled with: turns commit the session's state. */
export function langGraphAgent(
  graph: GraphBuilder | CompiledGraph,
  options: LangGraphOptions = {},
): Agent {
  const compiled = compile(graph)
  return {
    kind: 'langgraph',
    ...limitsOf(options),
    run: (input) => runTurn(compiled, input, options),
  }
}

function compile(graph: unknown): Graph {
  const given = graph as Partial<GraphBuilder & Graph> | null | undefined
  const compiled =
    typeof given?.compile === 'function'
      ? (given.compile() as unknown as Graph)
      : (given as Graph | null | undefined)
  if (typeof compiled?.invoke !== 'function' || typeof compiled.getState !== 'function') {
    throw new TypeError('langGraphAgent: takes a StateGraph, compiled or not')
  }
  if (!(EVENT in compiled.channels) && !(MESSAGES in compiled.channels)) {
    throw new TypeError(
      'langGraphAgent: the graph can see no event: its state needs the channel event, or messages',
    )
  }
  // Such a channel is rebuilt from its ancestors' writes, and retention removes ancestors.
  const delta = Object.entries(compiled.channels).find(
    ([, channel]) => kindOf(channel) === 'DeltaChannel',
  )
  if (delta !== undefined)
    throw new TypeError(
      `langGraphAgent: the channel ${delta[0]} is a DeltaChannel, which needs every old checkpoint`,
    )
  return compiled
}

const kindOf = (channel: unknown) => (channel as { lc_graph_name?: unknown } | null)?.lc_graph_name

/** Reads the graph's state, runs it, and reads the result. */
async function runTurn(
  compiled: Graph,
  input: TurnInput,
  { before: check }: LangGraphOptions,
): Promise<TurnResult> {
  // The function agent's turn validates each effect.
  const turn = new Turn({ ...input, state: null })
  if (!(await passes(turn, check)))
    return { wishes: Turn.finish(turn).wishes, checkpointId: null, points: [] }
  const { key, bucket } = input.session
  const saver = new GraphSaver(input.db, {
    key,
    bucket,
    head: input.checkpointId,
    fresh: [EFFECTS],
  })
  const graph = compiled.withConfig({})
  graph.checkpointer = saver
  const before = await look(graph, saver, key, input.checkpointId)
  const cron = cronRunOf(input.event)
  const config: RunConfig = {
    ...cron.config,
    configurable: { ...cron.config.configurable, thread_id: key, [TURN]: turn },
    durability: 'exit',
    signal: input.signal,
  }
  const live = MESSAGES in graph.channels && !(EFFECTS in graph.channels) ? Turn.live(turn) : null
  await runGraph(graph, inputOf(graph, input, before, cron, await promptOf(input)), config, live)
  const { bytes, ...rows } = saver.take()
  if (bytes > SAVED_MAX_BYTES)
    throw new TerminalError(
      `the graph's state takes at most ${SAVED_MAX_BYTES} bytes a turn, got ${bytes}`,
    )
  const after = await look(graph, saver, key, rows.checkpointId)
  live?.settle(newReply(messagesOf(before), messagesOf(after)) ?? '')
  return spending({ ...rows, wishes: wishesOf(turn, input, before, after) }, before, after)
}

/**
 * Where somebody looks, the text of models is shown as they write it; those tagged `nostream` are left out, as in LangGraph itself. The
 * answer is the last message, so a new one withdraws what was written.
 */
async function runGraph(
  graph: Graph,
  input: unknown,
  config: RunConfig,
  live: LiveText | null,
): Promise<void> {
  if (live === null) return void (await graph.invoke(input, config))
  live.retract()
  let id: string | undefined
  for await (const [message] of await graph.stream(input, { ...config, streamMode: 'messages' })) {
    if (!AIMessage.isInstance(message) && !AIMessageChunk.isInstance(message)) continue
    if (message.id !== id) live.retract()
    id = message.id
    live.write(message.text)
  }
}

/** Includes the usage that models report on new messages. */
function spending(result: TurnResult, before: Standing, after: Standing): TurnResult {
  const old = messagesOf(before)
  const known = new Set(old.map(({ id }) => id))
  const isNew = ({ id }: BaseMessage, place: number) =>
    id === undefined ? place >= old.length : !known.has(id)
  const used = messagesOf(after)
    .filter(isNew)
    .flatMap(
      (message) => (message as { usage_metadata?: { total_tokens: number } }).usage_metadata ?? [],
    )
  if (used.length === 0) return result
  const spent = {
    tokens: used.reduce((sum, usage) => sum + usage.total_tokens, 0),
    usd: 0,
    calls: used.length,
  }
  const points = result.points.map((point) =>
    point.id === result.checkpointId && point.ns === ''
      ? { ...point, metadata: { ...point.metadata, spent } }
      : point,
  )
  return { ...result, points, spent }
}

/** A graph between two runs. */
interface Standing {
  readonly values: Readonly<Record<string, unknown>>
  /** Stopped at an interrupt or a breakpoint. */
  readonly unfinished: boolean
  readonly interrupts: readonly Interrupt[]
}

/**
 * With the id given, LangGraph leaves out what tasks of an unfinished step have written: it counts when
 * the step is finished, and would count twice otherwise.
 */
async function look(
  graph: Graph,
  saver: GraphSaver,
  key: string,
  checkpointId: string | null,
): Promise<Standing> {
  if (checkpointId === null) return { values: {}, unfinished: false, interrupts: [] }
  const config = { configurable: { thread_id: key, checkpoint_id: checkpointId } }
  const { values, next } = await graph.getState(config)
  const pending = (await saver.getTuple(config))?.pendingWrites ?? []
  // A task that got its answer keeps its interrupt beside what it wrote.
  const done = new Set(
    pending.filter(([, channel]) => !(channel in WRITES_IDX_MAP)).map(([task]) => task),
  )
  const open = pending.filter(([task, channel]) => channel === INTERRUPT && !done.has(task))
  return {
    values,
    unfinished: next.length > 0,
    interrupts: open.flatMap(([, , value]) => value as Interrupt | Interrupt[]),
  }
}

function inputOf(
  graph: Graph,
  { event, remark }: TurnInput,
  before: Standing,
  cron: CronRun,
  why: string,
): unknown {
  const payload: unknown = JSON.parse(event.payload)
  const { id, seq, type, merged = [] } = event
  const prompt = type === 'user_message' ? why : `${why}\n${wordsOf({ type, payload })}`
  const seen: GraphEvent = {
    ...{ id, seq, type, payload, created_at: event.createdAt.toISOString(), prompt },
    ...(remark === undefined ? {} : { remark }),
  }
  const given = Object.entries(cron.input).filter(([name]) => name in graph.channels)
  const update: Record<string, unknown> = Object.fromEntries(given)
  if (EVENT in graph.channels) update[EVENT] = seen
  const text = MESSAGES in graph.channels ? humanText(graph, seen) : null
  // The event's id, so that a message reducer that meets it twice keeps one.
  if (text !== null)
    update[MESSAGES] = [...merged.map(earlier), new HumanMessage({ id, content: text })]
  if (!before.unfinished) return update
  const asked = before.interrupts[0]?.id
  return new Command({ resume: asked === undefined ? seen : { [asked]: seen }, update })
}

function earlier({ id, payload }: TurnEvent): HumanMessage {
  const { text } = JSON.parse(payload) as { text: string }
  return new HumanMessage({ id, content: text })
}

/**
 * A graph with the channel `event` finds there what its model has to know, and gets the person's words as they are. One without it
 * sees its messages alone.
 */
function humanText(graph: Graph, { type, payload, prompt, remark }: GraphEvent): string | null {
  const said = type === 'user_message' || type === 'digest'
  const text = said ? (payload as { text?: unknown }).text : undefined
  const more = remark === undefined ? '' : `\n\n[${remark}]`
  if (EVENT in graph.channels) return typeof text === 'string' ? `${text}${more}` : null
  return type === 'user_message' ? `${prompt}\n${text}${more}` : `${prompt}${more}`
}

function messagesOf(state: Standing): BaseMessage[] {
  const messages = state.values[MESSAGES]
  return Array.isArray(messages) ? messages : []
}

/** The text of the last message, if it is the model's and this turn's. */
function newReply(before: readonly BaseMessage[], after: readonly BaseMessage[]): string | null {
  const last = after.at(-1)
  if (!AIMessage.isInstance(last) || last.text.trim() === '') return null
  const old =
    last.id === undefined
      ? after.length <= before.length
      : before.some((message) => message.id === last.id && message.text === last.text)
  return old ? null : last.text
}

function wishesOf(
  turn: Turn,
  input: TurnInput,
  before: Standing,
  after: Standing,
): TurnResult['wishes'] {
  const effects = after.values[EFFECTS] ?? []
  if (!Array.isArray(effects))
    throw new TerminalError(
      `channel effects must hold a list of {type, payload}, got: ${shown(effects)}`,
    )
  const text = newReply(messagesOf(before), messagesOf(after))
  const isPrompted = input.event.type === 'user_message'
  const reply = isPrompted && effects.length === 0 ? text : null
  const question = questionOf(after.interrupts[0]?.value)
  for (const effect of effects) strictly(effect, () => ask(turn, effect))
  if (reply !== null) strictly('reply', () => turn.say(reply))
  if (question !== null && question !== reply) strictly('interrupt', () => turn.say(question))
  if (!isPrompted && text !== null) recordText(turn, text)
  const { wishes } = Turn.finish(turn)
  return [...wishes, ...digestDefault(input.event, wishes)]
}

/** What a model wrote in a turn that no user message began is not delivered: its graph sends a message by an effect. */
function recordText(turn: Turn, text: string): void {
  const { asked } = Turn.inside(turn)
  const hasChosen = asked.some(({ type }) => type === 'send_message' || type === 'silence')
  if (!asked.some((wish) => wish.type === 'send_message' && wish.content === text))
    Turn.record(turn, hasChosen ? 'not_delivered' : 'undecided', text)
}

/** An interrupt's value is shown to the person: a text, or an object with one in `content`. */
function questionOf(value: unknown): string | null {
  const content =
    typeof value === 'object' && value !== null ? (value as { content?: unknown }).content : value
  return typeof content === 'string' && content.trim() !== '' ? content : null
}
