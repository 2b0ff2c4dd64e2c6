/** What a cron of LangGraph's API asks of a run of its graph: the payload of its alarm carries it. */
import type { RunnableConfig } from '@langchain/core/runnables'
import type { TurnEvent } from '../../../src/agents/agent.ts'

export interface CronRun {
  /** For the channels of the graph, but for those that are ours. */
  readonly input: Fields
  readonly config: RunnableConfig & { readonly context?: unknown }
}

type Fields = Readonly<Record<string, unknown>>

const NONE: CronRun = { input: {}, config: {} }
/** Where the run stands is its session's affair; what the graph asks for is its own. */
const OURS = /^(?:thread_id|checkpoint.*|__.*)$/
const OUR_CHANNELS: ReadonlySet<string> = new Set(['event', 'effects'])

export function cronRunOf({ type, payload }: TurnEvent): CronRun {
  if (type !== 'alarm') return NONE
  const carried = fieldsOf(fieldsOf(JSON.parse(payload)).payload)
  if (typeof carried.cron_id !== 'string') return NONE
  const { configurable, tags, metadata, recursion_limit } = fieldsOf(carried.config)
  return {
    input: without(fieldsOf(carried.input), (name) => OUR_CHANNELS.has(name)),
    config: {
      ...(Array.isArray(tags) ? { tags: tags.map(String) } : {}),
      metadata: { ...fieldsOf(metadata), ...fieldsOf(carried.metadata) },
      ...(typeof recursion_limit === 'number' ? { recursionLimit: recursion_limit } : {}),
      ...(carried.context === undefined ? {} : { context: carried.context }),
      configurable: without(fieldsOf(configurable), (name) => OURS.test(name)),
    },
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {}
}

function without(fields: Fields, left: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !left(name)))
}
