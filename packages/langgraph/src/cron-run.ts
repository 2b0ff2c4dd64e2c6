/** The input of a cron's run, carried in the payload of its alarm. */
import type { RunnableConfig } from '@langchain/core/runnables'
import type { TurnEvent } from '../../../src/agents/agent.ts'

export interface CronRun {
  /** For the channels of the graph, except Wakeful's own. */
  readonly input: Fields
  readonly config: RunnableConfig & { readonly context?: unknown }
}

type Fields = Readonly<Record<string, unknown>>

const NONE: CronRun = { input: {}, config: {} }
/** Thread and checkpoint come from the session; other settings from the cron. */
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
