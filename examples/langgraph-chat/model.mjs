/** A LangChain chat model over any endpoint that speaks OpenAI's `/chat/completions`. Works on Node 20. */
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { convertToOpenAITool } from '@langchain/core/utils/function_calling'
import { RetryableError, TerminalError } from 'wakeful'

const ROLES = { human: 'user', ai: 'assistant', system: 'system', tool: 'tool' }
const SHOWN_MAX = 300

export class EndpointModel extends BaseChatModel {
  /** @param {() => { url?: string, key?: string, model?: string }} settings read at each call */
  constructor(settings) {
    super({})
    this.settings = settings
  }

  _llmType() {
    return 'chat-completions'
  }

  /** `options.tools`: tools of LangChain. */
  async _generate(messages, options) {
    const { url, key, model } = this.settings()
    if (!url || !model)
      throw new TerminalError('set WAKEFUL_MODEL_URL and WAKEFUL_MODEL, as the README says')
    const response = await fetch(`${url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key ? { authorization: `Bearer ${key}` } : {}),
      },
      body: JSON.stringify({
        model,
        messages: messages.map(written),
        ...(options.tools ? { tools: options.tools.map((tool) => convertToOpenAITool(tool)) } : {}),
      }),
      ...(options.signal ? { signal: options.signal } : {}),
    })
    if (!response.ok) throw await refusal(response)
    const { choices } = await response.json()
    const { content, tool_calls = [] } = choices?.[0]?.message ?? {}
    const calls = tool_calls.map(({ id, function: { name, arguments: args } }) => ({
      id,
      name,
      args: JSON.parse(args || '{}'),
    }))
    const message = new AIMessage({ content: content ?? '', tool_calls: calls })
    return { generations: [{ text: message.text, message }] }
  }
}

/** Busy or broken: worth another try, no sooner than it says. Anything else will not get better. */
async function refusal(response) {
  const message = `the model's endpoint answered ${response.status}: ${(await response.text()).slice(0, SHOWN_MAX)}`
  if (response.status !== 429 && response.status < 500) return new TerminalError(message)
  const seconds = Number(response.headers.get('retry-after'))
  return new RetryableError({ message, ...(seconds > 0 ? { retryAfterMs: seconds * 1000 } : {}) })
}

/** A message as the endpoint has it, with its tool calls and their results. */
function written({ type, text, tool_calls = [], tool_call_id }) {
  const calls = tool_calls.map(({ id, name, args }) => {
    return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
  })
  return {
    role: ROLES[type] ?? 'user',
    content: text,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(tool_call_id ? { tool_call_id } : {}),
  }
}
