/**
 * An agent of the Claude Agent SDK for the tests. What stands in for the SDK's `query` works as it does: its loop gets the tools over MCP, asks
 * a model, runs what that calls, and ends with a result. The model is the endpoint of the other adapters' tests.
 */
import { InMemoryTransport } from '@modelcontextprotocol/server'
import { claudeAgent } from 'wakeful/claude-agent-sdk'

const TURNS_MAX = 10

async function* query({ prompt, options }) {
  const { abortController, mcpServers, includePartialMessages } = options
  const request = await connect(mcpServers.wakeful.instance)
  const { tools } = await request('tools/list', {})
  const messages = [{ role: 'user', content: prompt }]
  const usage = { input_tokens: 0, output_tokens: 0 }
  for (let turns = 1; turns <= TURNS_MAX; turns++) {
    const answer = await ask(messages, tools, abortController.signal)
    if (typeof answer === 'number') {
      const failed = { is_error: true, result: `API Error: ${answer}`, api_error_status: answer }
      return yield { type: 'result', subtype: 'success', ...failed }
    }
    usage.input_tokens += answer.usage.prompt_tokens
    usage.output_tokens += answer.usage.completion_tokens
    const [{ message }] = answer.choices
    if (includePartialMessages) yield* events(message.content ?? '')
    yield { type: 'assistant' }
    if (!message.tool_calls?.length) {
      const result = { result: message.content ?? '', usage, num_turns: turns }
      return yield { type: 'result', subtype: 'success', is_error: false, ...result }
    }
    messages.push(message)
    for (const { id, function: called } of message.tool_calls) {
      const args = JSON.parse(called.arguments)
      const { content } = await request('tools/call', { name: called.name, arguments: args })
      messages.push({ role: 'tool', tool_call_id: id, content: content[0].text })
    }
  }
  yield { type: 'result', subtype: 'error_max_turns', is_error: true, errors: ['too many turns'] }
}

/** As the model's own stream has them; what a subagent writes has a parent. */
function* events(text) {
  const event = (of, parent_tool_use_id = null) => ({
    type: 'stream_event',
    event: of,
    parent_tool_use_id,
  })
  yield event({ type: 'message_start' })
  yield event({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'no' } }, 'sub')
  for (const each of text.match(/.{1,4}/gsu) ?? [])
    yield event({ type: 'content_block_delta', delta: { type: 'text_delta', text: each } })
}

/** A number is the status of a refusal. */
async function ask(messages, tools, signal) {
  const { WAKEFUL_MODEL_URL: url, WAKEFUL_MODEL: model, WAKEFUL_MODEL_KEY: key } = process.env
  const offered = tools.map(({ name, description, inputSchema: parameters }) => {
    return { type: 'function', function: { name, description, parameters } }
  })
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages, tools: offered }),
    signal,
  })
  return response.ok ? response.json() : response.status
}

/** A client of MCP in a few lines: the SDK's own lies in its binary. */
async function connect(instance) {
  const [client, server] = InMemoryTransport.createLinkedPair()
  await instance.connect(server)
  const waiting = new Map()
  client.onmessage = ({ id, result }) => waiting.get(id)?.(result)
  await client.start()
  let next = 0
  const request = (method, params) =>
    new Promise((done) => {
      const id = ++next
      waiting.set(id, done)
      void client.send({ jsonrpc: '2.0', id, method, params })
    })
  const clientInfo = { name: 'stub', version: '1' }
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  return request
}

export default { agents: { helper: claudeAgent({ model: 'x' }, { query }) } }
