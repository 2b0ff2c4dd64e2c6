/** The examples as they are, on both stores; the model is an endpoint on this machine that says what it is told to. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, resolve } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Agent } from '../../src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'
import { sent } from './graphs.ts'

// The examples name the package; here that is the source, not what was built last.
vi.mock('wakeful', () => import('../../src/index.ts'))
vi.mock('wakeful/langgraph', () => import('../../packages/langgraph/src/index.ts'))

async function example(name: string): Promise<Record<string, Agent>> {
  const path = `../../examples/${name}/app.mjs`
  return ((await import(path)) as { default: { agents: Record<string, Agent> } }).default.agents
}

interface Asked {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly content: string }[]
}

let server: Server | undefined
afterEach(() => {
  server?.close()
  vi.unstubAllEnvs()
})

/** Answers each call with the next of `answers`; a number is a status. */
async function endpoint(
  answers: (string | number | object)[],
): Promise<{ asked: Asked[]; keys: (string | undefined)[] }> {
  const asked: Asked[] = []
  const keys: (string | undefined)[] = []
  const body = async (request: IncomingMessage) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    return JSON.parse(Buffer.concat(chunks).toString()) as Asked
  }
  server = createServer(async (request, response) => {
    asked.push(await body(request))
    keys.push(request.headers.authorization)
    const answer = answers.shift() ?? 500
    if (typeof answer === 'number')
      return response.writeHead(answer, { 'retry-after': '7' }).end('not now')
    response.setHeader('content-type', 'application/json')
    const message = typeof answer === 'object' ? answer : { content: answer }
    return response.end(
      JSON.stringify({ choices: [{ message: { role: 'assistant', ...message } }] }),
    )
  })
  await new Promise<void>((done) => server?.listen(0, '127.0.0.1', done))
  vi.stubEnv('WAKEFUL_MODEL_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`)
  vi.stubEnv('WAKEFUL_MODEL', 'fake-1')
  vi.stubEnv('WAKEFUL_MODEL_KEY', 'secret')
  return { asked, keys }
}

/** An answer of the model that calls a tool. */
let calls = 0
const using = (name: string, args: object) => ({
  content: null,
  tool_calls: [
    {
      id: `call-${++calls}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    },
  ],
})
const nudge = () => using('schedule', { name: 'nudge', in: '10 minutes', cancel_on_reply: true })
const SILENT = using('stay_silent', { reason: 'nothing new' })

eachStore('the check-in example', (store) => {
  it('answers, checks in twice, and counts what was finished across turns', async () => {
    const made = await world(store, await example('langgraph-checkin'))
    const say = async (text: string) => {
      await made.say('ann:checkin:main', text)
      await made.settle()
    }
    await say('the report')
    await made.advanceBy(24 * 3_600_000)
    expect(await sent(made)).toEqual([
      'Good luck with “the report”. I will look in after a while.',
      'How is “the report” going?',
      'How is “the report” going?',
    ])
    await say('done')
    await say('the garden')
    await say('Done!')
    await made.advanceBy(24 * 3_600_000)
    expect((await sent(made)).slice(3)).toEqual([
      '“the report” is done: that makes 1. What is next?',
      'Good luck with “the garden”. I will look in after a while.',
      '“the garden” is done: that makes 2. What is next?',
    ])
  })
})

eachStore('the chat example', (store) => {
  const KEY = 'ann:chat:main'

  it('schedules by itself, shows the model the conversation, and speaks first once', async () => {
    const { asked, keys } = await endpoint([
      nudge(),
      'Nice!',
      using('send_message', { text: 'Rye or wheat?' }),
      'I have asked.',
      nudge(),
      'Good.',
      SILENT,
      '',
    ])
    const made = await world(store, await example('langgraph-chat'))
    await made.say(KEY, 'I bake bread.')
    await made.advanceBy(3_600_000)
    expect(await sent(made)).toEqual(['Nice!', 'Rye or wheat?'])
    await made.say(KEY, 'Rye.')
    await made.advanceBy(3_600_000)
    expect(await sent(made)).toEqual(['Nice!', 'Rye or wheat?', 'Good.'])
    expect(asked.map(({ messages }) => messages.map(({ role }) => role[0]).join(''))).toEqual([
      'su',
      'suat',
      'suatau',
      'suatauat',
      'suatauatau',
      'suatauatauat',
      'suatauatauatau',
      'suatauatauatauat',
    ])
    expect(asked[0]).toMatchObject({
      model: 'fake-1',
      messages: [{ role: 'system' }, { role: 'user' }],
    })
    expect(asked[0]?.messages[1]?.content).toMatch(/\nI bake bread\.$/)
    expect(new Set(keys)).toEqual(new Set(['Bearer secret']))
  })

  it('tries a busy endpoint again, no sooner than it asked, and says things once', async () => {
    const { asked } = await endpoint([429, 'Nice!'])
    const made = await world(store, await example('langgraph-chat'))
    await made.say(KEY, 'I bake bread.')
    await made.settle()
    await made.advanceBy(6_900)
    expect(asked).toHaveLength(1)
    await made.advanceBy(60_000)
    expect(asked[1]?.messages.map(({ content }) => content).slice(1)).toEqual([
      expect.stringMatching(/\nI bake bread\.$/),
    ])
    expect(await sent(made)).toEqual(['Nice!'])
  })

  it('gives up at once where no retry helps', async () => {
    const { asked } = await endpoint([401])
    const made = await world(store, await example('langgraph-chat'))
    await made.say(KEY, 'I bake bread.')
    await made.advanceBy(3_600_000)
    expect(asked).toHaveLength(1)
    const [turn] = await made.query<{ status: string; error: string }>(
      'select status, error from wakeful.turns',
    )
    expect(turn).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/answered 401: not now/),
    })
  })
})

describe('the library door', () => {
  it('does not lead to LangGraph, which is an optional peer', () => {
    const seen = new Set<string>()
    const visit = (file: string): string[] => {
      if (seen.has(file)) return []
      seen.add(file)
      const imports = [
        ...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g),
      ].map((match) => match[1] ?? '')
      return imports.flatMap((name) =>
        name.startsWith('.') ? visit(resolve(dirname(file), name)) : [name],
      )
    }
    const packages = visit(resolve('src/index.ts'))
    expect(packages).toContain('pg')
    expect(packages.filter((name) => name.startsWith('@langchain'))).toEqual([])
  })
})
