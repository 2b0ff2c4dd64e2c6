/** The tools of a turn in the shapes of the raw SDKs: to be sent as they are, and run by the SDKs' own loops. */
import type { Turn } from '../../../src/agents/function.ts'
import { type TurnTool, type TurnToolOptions, toolsOfTurn } from './turn-tools.ts'

export interface OpenAiTool {
  readonly type: 'function'
  readonly function: {
    name: string
    description: string
    parameters: Record<string, unknown>
    parse: (text: string) => object
    function: (args: object) => Promise<string>
  }
}

export interface AnthropicTool {
  name: string
  description: string
  input_schema: { type: 'object'; properties: Record<string, object>; required: string[] }
  parse: (input: unknown) => unknown
  run: (input: unknown) => Promise<string>
}

export const toolsFor = {
  /** `client.chat.completions.runTools({ model, messages, tools: toolsFor.openai(turn) })` */
  openai(turn: Turn, options?: TurnToolOptions): OpenAiTool[] {
    return toolsOfTurn(turn, options).map(({ name, description, parameters, run }) => ({
      type: 'function',
      function: {
        ...{ name, description, parameters: { ...parameters } },
        parse: (text) => JSON.parse(text) as object,
        function: (args) => run(args),
      },
    }))
  },

  /** `client.beta.messages.toolRunner({ model, max_tokens, messages, tools: toolsFor.anthropic(turn) })` */
  anthropic(turn: Turn, options?: TurnToolOptions): AnthropicTool[] {
    return toolsOfTurn(turn, options).map(({ name, description, parameters, run }) => ({
      ...{ name, description, input_schema: inputOf(parameters) },
      parse: (input) => input,
      run: (input) => run(input),
    }))
  },
}

const inputOf = ({ type, properties, required }: TurnTool['parameters']) => ({
  type,
  properties: { ...properties },
  required: [...required],
})
