/** Programs in TypeScript that use the package compile, with the types of those whose packages they hand its tools to. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { install, ROOT, run } from './installed.ts'

const PROGRAM = `import { generateText, type LanguageModel, ToolLoopAgent, type ToolSet } from 'ai'
import { agent, wakeful } from 'wakeful'
import { aiSdkAgent } from 'wakeful/ai-sdk'
import { aiTools, turnTools } from 'wakeful/tools'

declare const model: LanguageModel
const app = await wakeful({
  agents: {
    whole: aiSdkAgent(({ tools }) => new ToolLoopAgent({ model, tools })),
    bound: agent(async (turn) => {
      await generateText({ model, tools: turnTools(turn), prompt: 'x' })
    }),
  },
})
const tools = aiTools(app, { actAs: 'ann' })
const set: ToolSet = tools
await generateText({ model, tools, prompt: 'x' })
const answer = await tools.set_alarm?.execute({ schedule: 'tomorrow at 9am', wake_message: 'x' })
if (answer?.ok === false) console.log(answer.problem.errors, set)
`

it('tools fit the AI SDK', async () => {
  const { home } = await install()
  for (const name of ['ai', '@ai-sdk', '@langchain', '@types/node', 'typescript']) {
    const link = join(home, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
  writeFileSync(join(home, 'package.json'), '{"private":true,"type":"module"}')
  writeFileSync(join(home, 'main.ts'), PROGRAM)
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: ['node'] },
    ...{ module: 'nodenext', target: 'es2023' },
  }
  writeFileSync(
    join(home, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['main.ts'] }),
  )
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const done = await run(process.execPath, [tsc, '-p', home]).catch(
    (error: { stdout: string }) => error,
  )
  expect(done.stdout).toBe('')
})
