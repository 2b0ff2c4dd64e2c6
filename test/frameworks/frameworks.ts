/** The examples of other frameworks, and a model that says what it is told to. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { json, type Say } from '../agents/fake-model.ts'
import { folder } from '../process/server.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const FRAMEWORKS = ['ai-sdk', 'openai-agents', 'mastra'] as const
export type Framework = (typeof FRAMEWORKS)[number]

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
export function appOf(framework: Framework): string {
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
