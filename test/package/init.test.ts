/** What `wakeful init` writes passes its own test, and runs. */
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { wakeful } from '../cli/stage.ts'
import { folder, post, Server } from '../process/server.ts'
import { PYTHON } from '../setup/python.ts'
import { until } from '../setup/until.ts'
import { install } from './installed.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

interface Manifest {
  readonly scripts: { readonly start: string; readonly test: string }
  readonly dependencies: Record<string, string>
  readonly devDependencies?: Record<string, string>
}

/** As npm would, but without a registry: packages are linked, and a packed file is unpacked. */
async function put(home: string, name: string, version: string): Promise<void> {
  const place = join(home, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  if (!version.startsWith('file:')) return symlinkSync(join(ROOT, 'node_modules', name), place)
  mkdirSync(place)
  await run('tar', ['-xzf', join(home, version.slice(5)), '--strip-components=1', '-C', place])
}

/** Writes the app into a new folder, with its packages as npm would put them there. */
async function app(...flags: string[]): Promise<{ home: string; scripts: Manifest['scripts'] }> {
  const home = join(folder(), 'My Agent')
  const ran = await wakeful(['init', home, ...flags])
  expect(ran).toMatchObject({ code: 0, stderr: '' })
  const written = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as Manifest
  expect(written).toMatchObject({ name: 'my-agent', private: true })
  const { dependencies, devDependencies = {}, scripts } = written
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    // A later version may ask for a later one of its family than there is.
    if (name !== 'wakeful') expect(version, name).toMatch(/^\d/)
    if (flags.includes('langgraph')) expect(dependencies).toHaveProperty('@langchain/langgraph-sdk')
    await put(home, name, version)
  }
  await put(home, 'zod', '')
  return { home, scripts }
}

/** The arguments of a script that starts Node. */
const argsOf = (script: string) => script.split(' ').slice(1)

async function passes({ home, scripts }: Awaited<ReturnType<typeof app>>): Promise<void> {
  const args = argsOf(scripts.test)
  const { stdout } = await run(process.execPath, ['--test-reporter=tap', ...args], {
    cwd: home,
    // Else it believes itself to be part of the test run around it.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined, PYTHON },
  })
  expect(stdout).toMatch(/^# pass 1$/m)
}

async function answers(url: string, agent: string): Promise<void> {
  const key = `me:${agent}:first`
  expect(await post(url, key, { text: 'hello' })).toMatchObject({ status: 202 })
  await until('the agent answers', async () => {
    const answer = await fetch(`${url}/v1/sessions/${key}/effects`)
    const { data } = (await answer.json()) as { data: { payload: { content?: string } }[] }
    return data.some(({ payload }) => payload.content?.includes('hello'))
  })
}

const KINDS = [
  ['function', 'javascript', 'companion'],
  ['function', 'typescript', 'companion'],
  ['langgraph', 'javascript', 'tasks'],
  ['langgraph', 'typescript', 'tasks'],
] as const
const MODELS = ['ai-sdk', 'openai', 'anthropic'] as const

/** With a stub of the model in their own tests. */
describe.each(MODELS)('an agent on %s', (kind) => {
  it('is TypeScript by default, passes its test, and is well typed', async () => {
    const made = await app('--agent', kind)
    await passes(made)
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, '-p', made.home])
  })

  it('passes its test in JavaScript', async () => {
    await passes(await app('--agent', kind, '--language', 'javascript'))
  })
})

describe.each(KINDS)('a %s agent in %s', (kind, language, agent) => {
  it('passes its test, is well typed, and serves', async () => {
    const made = await app('--agent', kind, '--language', language)
    await passes(made)
    if (language === 'typescript') {
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
      await run(process.execPath, [tsc, '-p', made.home])
    }
    const [, ...args] = argsOf(made.scripts.start)
    const bin = join(made.home, 'node_modules/wakeful/dist/cli/bin.js')
    const server = await Server.start({ DATABASE_URL: 'memory:' }, { bin, folder: made.home, args })
    await answers(server.url, agent)
    expect(await server.end('SIGTERM')).toMatchObject({ code: 0 })
  })
})

it.skipIf(PYTHON === '')('an agent in Python passes its test', async () => {
  await passes(await app('--agent', 'python'))
})

describe('the package that an app names', () => {
  it.each([
    ['file:../wakeful/wakeful-0.1.0.tgz', /^file:wakeful-\d\S+\.tgz$/],
    ['https://registry.npmjs.org/wakeful/-/wakeful-0.1.0.tgz', /^\^\d/],
  ])('comes from where this one does: %s', async (resolved, range) => {
    const { home, bin } = await install()
    const notes = { packages: { 'node_modules/wakeful': { resolved } } }
    writeFileSync(join(home, 'node_modules/.package-lock.json'), JSON.stringify(notes))
    const made = join(home, 'app')
    await run(process.execPath, [bin, 'init', made, '--agent', 'function'])
    const { dependencies } = JSON.parse(
      readFileSync(join(made, 'package.json'), 'utf8'),
    ) as Manifest
    expect(dependencies.wakeful).toMatch(range)
    const packed = readdirSync(made).filter((name) => name.endsWith('.tgz'))
    expect(packed.map((name) => `file:${name}`)).toEqual(
      dependencies.wakeful?.startsWith('file:') ? [dependencies.wakeful] : [],
    )
  })
})

describe('a wrong wish', () => {
  it('writes nothing over what is there', async () => {
    const home = folder()
    writeFileSync(join(home, 'mine.txt'), 'mine')
    const ran = await wakeful(['init', home])
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    expect(ran.stderr).toContain('is not empty')
  })

  it('is answered with what there is', async () => {
    const kind = await wakeful(['init', folder(), '--agent', 'ruby'])
    expect(kind.code).toBe(2)
    expect(kind.stderr).toContain('function, ai-sdk, openai, anthropic, langgraph, python')
    const both = await wakeful(['init', folder(), '--agent', 'python', '--language', 'typescript'])
    expect(both).toMatchObject({ code: 2 })
  })
})
