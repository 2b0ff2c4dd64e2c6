/** The examples of other frameworks, and a model that says what it is told to. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
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

const answering = (message: object, finish_reason: string): Say =>
  json(200, {
    id: 'answer',
    object: 'chat.completion',
    created: 1,
    model: 'fake-1',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  })

export const saying = (content: string): Say => answering({ content }, 'stop')

let calls = 0
export const using = (name: string, args: object): Say => {
  const id = `call-${++calls}`
  const call = { id, type: 'function', function: { name, arguments: JSON.stringify(args) } }
  return answering({ content: null, tool_calls: [call] }, 'tool_calls')
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
