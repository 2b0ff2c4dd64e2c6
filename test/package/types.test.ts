/** Programs in TypeScript that use the package compile strictly, also where no framework is installed. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { exportedFrom } from '../golden/surface.ts'
import { type Installed, install, manifest, ROOT, run } from './installed.ts'

/** Those that need no framework. */
const BARE = ['.', './client', './react', './remote', './testing', './tools']
const COMPILERS = ['typescript-5', 'typescript']

const TURNS = `import { agent, wakeful } from 'wakeful'
import { toolsFor, turnTools } from 'wakeful/tools'

const app = await wakeful({
  agents: {
    helper: agent<{ count: number }>((turn) => {
      // @ts-expect-error no such event
      if (turn.event.type === 'alrm') return
      if (turn.event.type === 'alarm') turn.say(turn.event.payload.wake_message)
      const names: string[] = toolsFor.anthropic(turn).map(({ name }) => name)
      turn.state.count = names.length + Object.keys(turnTools(turn)).length
    }),
  },
})
await app.stop()
`

const FRAMEWORKS = `import type Anthropic from '@anthropic-ai/sdk'
import {
  type ChatTransport,
  generateText,
  type LanguageModel,
  ToolLoopAgent,
  type ToolSet,
  type UIMessage,
} from 'ai'
import type OpenAI from 'openai'
import { agent, wakeful } from 'wakeful'
import { aiSdkAgent } from 'wakeful/ai-sdk'
import { wakefulTransport } from 'wakeful/react'
import { aiTools, conclude, promptFor, toolsFor, turnTools } from 'wakeful/tools'

declare const model: LanguageModel
declare const openai: OpenAI
declare const anthropic: Anthropic
const app = await wakeful({
  agents: {
    whole: aiSdkAgent(({ tools }) => new ToolLoopAgent({ model, tools }), {
      before: (turn) => turn.event.type === 'user_message',
      tools: { only: ['schedule'], also: ['explain'] },
    }),
    bound: agent(async (turn) => {
      const { text } = await generateText({ model, tools: turnTools(turn), prompt: 'x' })
      conclude(turn, text)
    }),
    openai: agent(async (turn) => {
      const messages = [{ role: 'user' as const, content: await promptFor(turn) }]
      const tools = toolsFor.openai(turn)
      const runner = openai.chat.completions.runTools({ model: 'x', messages, tools })
      conclude(turn, (await runner.finalContent()) ?? '')
    }),
    anthropic: agent(async (turn) => {
      const messages = [{ role: 'user' as const, content: await promptFor(turn) }]
      const tools = toolsFor.anthropic(turn)
      const answer = await anthropic.beta.messages.toolRunner({ model: 'x', max_tokens: 9, messages, tools })
      conclude(turn, answer.content.map((part) => (part.type === 'text' ? part.text : '')).join(''))
    }),
  },
})
const tools = aiTools(app, { actAs: 'ann' })
const set: ToolSet = tools
await generateText({ model, tools, prompt: 'x' })
const answer = await tools.set_alarm?.execute({ schedule: 'tomorrow at 9am', wake_message: 'x' })
if (answer?.ok === false) console.log(answer.problem.errors, set)
export const transport: ChatTransport<UIMessage> = wakefulTransport({
  url: '',
  sessionKey: 'a:b:c',
  onMessage: (message) => console.log([message satisfies UIMessage]),
})
`

let installed: Installed
beforeAll(async () => {
  installed = await install()
}, 240_000)

/** Re-exports every name of these entry points. */
function everything(entries: readonly string[]): string {
  const { exports } = manifest(installed.own)
  return entries
    .map((entry) => {
      const names = [...exportedFrom(join(installed.own, exports[entry]?.types ?? '')).keys()]
      expect(names.length).toBeGreaterThan(0)
      const own = names.map((name) => `${name} as ${name}_${entry.replaceAll(/\W/g, '')}`)
      return `export { ${own.join(', ')} } from 'wakeful${entry.slice(1)}'`
    })
    .join('\n')
}

async function compiled(
  name: string,
  files: Record<string, string>,
  packages: readonly string[],
): Promise<string[]> {
  const home = join(installed.home, name)
  mkdirSync(home, { recursive: true })
  for (const each of packages) {
    // Beside the package, where its declarations find them, too.
    const link = join(installed.home, 'node_modules', each)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(join(ROOT, 'node_modules', each), link)
  }
  writeFileSync(join(home, 'package.json'), '{"private":true,"type":"module"}')
  for (const [file, text] of Object.entries(files)) writeFileSync(join(home, file), text)
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, types: ['node'] },
    ...{ module: 'nodenext', target: 'es2023' },
  }
  const config = JSON.stringify({ compilerOptions, files: Object.keys(files) })
  writeFileSync(join(home, 'tsconfig.json'), config)
  return Promise.all(
    COMPILERS.map(async (compiler) => {
      const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc')
      const done = await run(process.execPath, [tsc, '-p', home]).catch(
        (error: { stdout: string }) => error,
      )
      return done.stdout
    }),
  )
}

describe('with TypeScript 5.9 and 7, strictly and with its declarations checked', () => {
  it('every export compiles where no framework is installed', async () => {
    const files = { 'every.ts': everything(BARE), 'turns.ts': TURNS }
    expect(await compiled('bare', files, ['@types/node', 'undici-types'])).toEqual(['', ''])
  })

  it('every export compiles beside the frameworks, and the tools fit them', async () => {
    const entries = Object.keys(manifest(installed.own).exports)
    const files = { 'every.ts': everything(entries), 'frameworks.ts': FRAMEWORKS }
    const all = readdirSync(join(ROOT, 'node_modules')).filter(
      (each) => !each.startsWith('.') && !each.startsWith('wakeful') && each !== '@wakeful',
    )
    expect(await compiled('whole', files, all)).toEqual(['', ''])
  })
})
