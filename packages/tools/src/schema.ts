/** A JSON Schema as frameworks take it, without naming one of them. */

/** A Standard Schema that has its JSON Schema with it, as the AI SDK and Mastra take it. */
export interface ToolSchema {
  readonly jsonSchema: Readonly<Record<string, unknown>>
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => { readonly value: unknown }
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>
      readonly output: () => Record<string, unknown>
    }
  }
}

/** No check: the operation or the turn checks, and says all that is wrong. */
export function toolSchema(json: object): ToolSchema {
  const jsonSchema = { ...json }
  const shown = () => jsonSchema
  const marked = { [Symbol.for('vercel.ai.schema')]: true, _type: undefined, validate: undefined }
  return {
    // What the AI SDK's own `jsonSchema()` makes; its symbol is not exported, so no type can name it.
    ...marked,
    jsonSchema,
    '~standard': {
      ...{ version: 1, vendor: 'wakeful', validate: (value) => ({ value }) },
      jsonSchema: { input: shown, output: shown },
    },
  }
}
