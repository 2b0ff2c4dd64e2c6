/**
 * Stands in for `@mastra/core/agent`, which is 132 MB in 152 packages: the same calls and results, as seen of 1.71.0, over
 * the same kind of endpoint. Runs that wait for leave lie in memory, as with Mastra's in-memory store.
 */
const suspended = new Map()
let runs = 0

const isJson = (value) => typeof value === 'object' && value !== null
const toolOutput = (value) =>
  isJson(value) ? { type: 'json', value } : { type: 'text', value: String(value) }

/** Of its messages, as the endpoint takes them. */
function wire({ role, content }) {
  if (typeof content === 'string') return [{ role, content }]
  if (role === 'tool')
    return content.map(({ toolCallId, output }) => ({
      role,
      tool_call_id: toolCallId,
      content: String(output.value),
    }))
  const text = content.filter(({ type }) => type === 'text').map((part) => part.text)
  const calls = content.filter(({ type }) => type === 'tool-call')
  return [
    {
      role,
      content: text.join('') || null,
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(({ toolCallId, toolName, input }) => ({
              id: toolCallId,
              type: 'function',
              function: { name: toolName, arguments: JSON.stringify(input) },
            })),
          }),
    },
  ]
}

export class Agent {
  #settings

  constructor(settings) {
    this.#settings = settings
  }

  generate(messages, options = {}) {
    const runId = `run-${++runs}`
    return this.#loop(
      { runId, messages, made: [], steps: [], inputTokens: 0, outputTokens: 0 },
      options,
    )
  }

  /** The text of each step comes in pieces when the step has ended. */
  async stream(messages, options = {}) {
    const chunks = []
    const onStep = ({ text, toolCalls }) => {
      chunks.push({ type: 'step-start', payload: {} })
      for (const each of text.match(/.{1,4}/gsu) ?? [])
        chunks.push({ type: 'text-delta', payload: { text: each } })
      for (const payload of toolCalls) chunks.push({ type: 'tool-call', payload })
    }
    const output = this.generate(messages, { ...options, onStep })
    async function* fullStream() {
      await output
      yield* chunks
    }
    return { fullStream: fullStream(), getFullOutput: () => output }
  }

  approveToolCallGenerate(options) {
    return this.#resume(options, true)
  }

  declineToolCallGenerate(options) {
    return this.#resume(options, false)
  }

  async #resume(options, approved) {
    const run = suspended.get(options.runId)
    if (run === undefined)
      throw new Error(
        `Agent "${this.#settings.id}" resumeGenerate() could not find a suspended run for runId "${options.runId}".`,
      )
    suspended.delete(options.runId)
    const { call } = run
    const output = approved
      ? await this.#tools(options)[call.toolName].execute(call.input)
      : 'Tool call was not approved by the user'
    run.made.push(this.#result(call, output))
    return this.#loop(run, options)
  }

  #tools({ toolsets = {} }) {
    return { ...this.#settings.tools, ...Object.assign({}, ...Object.values(toolsets)) }
  }

  #result({ toolCallId, toolName, input }, value) {
    const part = { type: 'tool-result', toolCallId, toolName, output: toolOutput(value), input }
    return { role: 'tool', content: [part] }
  }

  async #loop(run, options) {
    const tools = this.#tools(options)
    for (;;) {
      const message = await this.#ask(run, tools, options.abortSignal)
      const calls = (message.tool_calls ?? []).map(
        ({ id, function: { name, arguments: given } }) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input: JSON.parse(given),
        }),
      )
      const text = message.content ?? ''
      const said = text === '' ? [] : [{ type: 'text', text }]
      run.made.push({ role: 'assistant', content: [...said, ...calls] })
      const { runId, made, steps, inputTokens, outputTokens } = run
      steps.push({ text, toolCalls: calls })
      options.onStep?.(steps.at(-1))
      if (calls.length === 0) {
        const totalUsage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
        const response = { messages: made }
        return { text, finishReason: 'stop', runId, response, totalUsage, usage: totalUsage, steps }
      }
      for (const call of calls) {
        const tool = tools[call.toolName]
        if (tool.requireApproval) {
          suspended.set(runId, { ...run, call })
          const { toolCallId, toolName, input: args } = call
          const suspendPayload = { toolCallId, toolName, args }
          // As there: nothing is said of messages and usage before it has ended.
          return {
            text: '',
            finishReason: 'suspended',
            runId,
            suspendPayload,
            response: {},
            totalUsage: {},
            steps: [],
          }
        }
        made.push(this.#result(call, await tool.execute(call.input, {})))
      }
    }
  }

  async #ask(run, tools, signal) {
    const { model, instructions } = this.#settings
    const { id, url, apiKey } = typeof model === 'function' ? await model() : model
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      signal,
      body: JSON.stringify({
        model: id.split('/').slice(1).join('/'),
        messages: [
          { role: 'system', content: instructions },
          ...[...run.messages, ...run.made].flatMap(wire),
        ],
        tools: Object.entries(tools).map(([name, { description, inputSchema }]) => ({
          type: 'function',
          function: { name, description, parameters: inputSchema.jsonSchema },
        })),
      }),
    })
    if (!response.ok) {
      const error = new Error(await response.text())
      error.statusCode = response.status
      error.responseHeaders = Object.fromEntries(response.headers)
      throw error
    }
    const { choices, usage } = await response.json()
    run.inputTokens += usage.prompt_tokens
    run.outputTokens += usage.completion_tokens
    return choices[0].message
  }
}
