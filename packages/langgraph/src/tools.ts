/** Wakeful's operations, and the tools of a turn, as LangChain tools. */

import type { RunnableConfig } from '@langchain/core/runnables'
import { tool as make, type StructuredToolInterface } from '@langchain/core/tools'
import { toJsonSchema } from '@langchain/core/utils/json_schema'
import { z } from 'zod'
import type { Turn } from '../../../src/agents/function.ts'
import { aiTools, type ToolOptions, type ToolSource } from '../../tools/src/index.ts'
import { type TurnToolOptions, toolsOfTurn } from '../../tools/src/turn-tools.ts'

/** Where a run of a graph finds its turn in `config.configurable`. Not text: LangGraph keeps those with the checkpoint. */
export const TURN = 'wakeful_turn'

/** Their content is the words and the JSON; their artifact is the answer as data. */
export function langchainTools(
  source: ToolSource,
  options: ToolOptions = {},
): StructuredToolInterface[] {
  return Object.entries(aiTools(source, options)).map(([name, tool]) => {
    const { description, inputSchema, execute } = tool
    const schema = openSchema(inputSchema.jsonSchema)
    return make(
      async (args: unknown, config?: { signal?: AbortSignal }) => {
        const signal = config?.signal
        const answer = await execute(args, signal === undefined ? {} : { abortSignal: signal })
        const data = answer.ok && answer.data !== null ? `\n${JSON.stringify(answer.data)}` : ''
        return [`${answer.said}${data}`, answer]
      },
      { name, description, schema, responseFormat: 'content_and_artifact' },
    ) as unknown as StructuredToolInterface
  })
}

/**
 * The tools of the turn that a graph runs in, for a node: `graphTools(config)`. What they set is written with the turn or not at all. In a
 * turn that no user message began the model has `send_message` and `stay_silent` among them, and calls one.
 */
export function graphTools(
  config: RunnableConfig,
  options: TurnToolOptions = {},
): StructuredToolInterface[] {
  const turn = config.configurable?.[TURN] as Turn | undefined
  if (turn === undefined)
    throw new TypeError(
      "graphTools: takes the config of a node of an agent's graph, within its turn",
    )
  return toolsOfTurn(turn, options).map(
    ({ name, description, parameters, run }) =>
      make((args: unknown) => run(args), {
        ...{ name, description, schema: openSchema(parameters) },
      }) as unknown as StructuredToolInterface,
  )
}

/**
 * LangChain refuses what does not fit a JSON Schema without saying why. A schema that lets everything through, and shows the real one to
 * the model, leaves the check to who runs the tool.
 */
function openSchema(jsonSchema: object): never {
  const open = z.unknown().meta({ ...jsonSchema })
  const shown = toJsonSchema(open) as { properties?: unknown }
  return (shown.properties === undefined ? jsonSchema : open) as never
}
