/** The README's first code, as it stands there, with a stub in place of OpenAI's endpoint. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { fakeModel } from '../agents/fake-model.ts'
import { saying, using } from '../frameworks/frameworks.ts'
import { folder, post, Server } from '../process/server.ts'
import { afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'
import { ROOT } from './blocks.ts'

const KEY = 'ann:assistant:main'
const FIRST_CODE = /^```js[^\n]*\n([\s\S]*?)^```$/m

/** `@ai-sdk/openai` would ask api.openai.com; this asks the stub. */
function openAiAt(url: string): string {
  const library = pathToFileURL(join(ROOT, 'node_modules/@ai-sdk/openai-compatible/dist/index.mjs'))
  return `import { createOpenAICompatible } from '${library.href}'
export const openai = createOpenAICompatible({ name: 'openai', baseURL: '${url}' })`
}

/** A folder with the code, where the packages that it names are installed. */
function appWith(code: string, modelUrl: string): string {
  const home = folder()
  const openai = join(home, 'node_modules/@ai-sdk/openai')
  mkdirSync(openai, { recursive: true })
  writeFileSync(join(openai, 'index.js'), openAiAt(modelUrl))
  writeFileSync(join(openai, 'package.json'), '{ "type": "module", "exports": "./index.js" }')
  symlinkSync(ROOT, join(home, 'node_modules/wakeful'))
  symlinkSync(join(ROOT, 'node_modules/ai'), join(home, 'node_modules/ai'))
  writeFileSync(
    join(home, 'app.mjs'),
    code.replace('console.log(', "console.log('listening on ' + "),
  )
  return home
}

it('the first code of the README is an agent with a model that reminds', async () => {
  const [, code = ''] = FIRST_CODE.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
  expect(code.split('\n').filter((line) => /^\w/.test(line)).length).toBeLessThanOrEqual(10)
  const model = await fakeModel(
    using('schedule', { name: 'stretch', in: 1, note: 'stretch' }),
    saying('I will remind you.'),
    using('send_message', { text: 'Time to stretch!' }),
    saying(''),
  )
  afterEachTest(() => model.stop())
  const home = appWith(code, model.url)
  const env = { DATABASE_URL: 'memory:' }
  const server = await Server.start(env, { bin: join(home, 'app.mjs'), folder: home })
  expect(await post(server.url, KEY, { text: 'Remind me to stretch.' })).toMatchObject({
    status: 202,
  })
  const said = async () => {
    const answer = await fetch(`${server.url}/v1/sessions/${KEY}/effects`)
    const { data } = (await answer.json()) as { data: { payload: { content?: string } }[] }
    return data.flatMap(({ payload }) => payload.content ?? [])
  }
  await until('both messages', async () => (await said()).length >= 2)
  expect(await said()).toEqual(['I will remind you.', 'Time to stretch!'])
  expect(JSON.stringify(model.asked[0]?.body)).toContain('You are a helpful assistant.')
})
