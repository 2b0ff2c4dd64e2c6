/** The examples of other frameworks, and a model that says what it is told to. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Agent } from '../../src/index.ts'
import { json, type Say } from '../agents/fake-model.ts'
import { folder } from '../process/server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const FRAMEWORKS = ['ai-sdk', 'openai-agents', 'mastra'] as const
export type Framework = (typeof FRAMEWORKS)[number]
/** All adapters; the model of each is the endpoint in WAKEFUL_MODEL_URL. */
export const ADAPTERS = [...FRAMEWORKS, 'langgraph-chat', 'claude-agent-sdk'] as const
export type Adapter = (typeof ADAPTERS)[number]

/** The agent of an adapter's example. The Claude Agent SDK has none that runs without its binary. */
export async function exampleOf(name: string): Promise<[string, Agent]> {
  const path = name === 'claude-agent-sdk' ? './claude-app.mjs' : `../../examples/${name}/app.mjs`
  const made = (await import(path)) as { default: { agents: Record<string, Agent> } }
  return [name, Object.values(made.default.agents)[0] as Agent]
}

interface Answer {
  readonly content: string | null
  readonly tool_calls?: readonly object[]
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const ANSWER = { id: 'answer', created: 1, model: 'fake-1' }

/** Streamed where that is asked for, a few characters at a time. */
const answering =
  (message: Answer, finish_reason: string): Say =>
  (response, asked) => {
    if (asked.body.stream) return stream(response, message, finish_reason)
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }]
    json(200, { ...ANSWER, object: 'chat.completion', choices, usage })(response, asked)
  }

function stream(response: ServerResponse, { content, tool_calls = [] }: Answer, end: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (delta: object, finish_reason: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason }]
    const chunk = { ...ANSWER, object: 'chat.completion.chunk', choices, usage }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  send({ role: 'assistant' })
  for (const text of content?.match(/.{1,4}/gsu) ?? []) send({ content: text })
  for (const [index, call] of tool_calls.entries()) send({ tool_calls: [{ index, ...call }] })
  send({}, end)
  response.end('data: [DONE]\n\n')
}

export const saying = (content: string): Say => answering({ content }, 'stop')

let calls = 0
/** `content`: what it says beside. */
export const using = (name: string, args: object, content: string | null = null): Say => {
  const id = `call-${++calls}`
  const call = { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
  return answering({ content, tool_calls: [call] }, 'tool_calls')
}

/** The example as a process finds it: Mastra's with what stands in for the package. */
export function appOf(framework: Adapter): string {
  if (framework === 'claude-agent-sdk') return join(ROOT, 'test/frameworks/claude-app.mjs')
  const path = `examples/${framework}/app.mjs`
  if (framework !== 'mastra') return join(ROOT, path)
  const place = folder()
  const modules = join(place, 'node_modules')
  mkdirSync(join(modules, '@mastra'), { recursive: true })
  cpSync(join(ROOT, 'test/frameworks/mastra-core'), join(modules, '@mastra/core'), {
    recursive: true,
  })
  symlinkSync(ROOT, join(modules, 'wakeful'))
  cpSync(join(ROOT, path), join(place, 'app.mjs'))
  return join(place, 'app.mjs')
}
