/** Wakeful's operations as LangChain tools. */
import { tool as make, type StructuredToolInterface } from '@langchain/core/tools'
import { toJsonSchema } from '@langchain/core/utils/json_schema'
import { z } from 'zod'
import { aiTools, type ToolOptions, type ToolSource } from '../../tools/src/index.ts'

/** Their content is the words and the JSON; their artifact is the answer as data. */
export function langchainTools(
  source: ToolSource,
  options: ToolOptions = {},
): StructuredToolInterface[] {
  return Object.entries(aiTools(source, options)).map(([name, tool]) => {
    const { description, inputSchema, execute } = tool
    const { jsonSchema } = inputSchema
    // LangChain refuses what does not fit a JSON Schema without saying why. A schema that lets everything
    // through, and shows the real one to the model, leaves the check to the operation.
    const open = z.unknown().meta({ ...jsonSchema })
    const shown = toJsonSchema(open) as { properties?: unknown }
    const schema = shown.properties === undefined ? jsonSchema : open
    return make(
      async (args: unknown, config?: { signal?: AbortSignal }) => {
        const signal = config?.signal
        const answer = await execute(args, signal === undefined ? {} : { abortSignal: signal })
        const data = answer.ok && answer.data !== null ? `\n${JSON.stringify(answer.data)}` : ''
        return [`${answer.said}${data}`, answer]
      },
      { name, description, schema: schema as never, responseFormat: 'content_and_artifact' },
    ) as unknown as StructuredToolInterface
  })
}
