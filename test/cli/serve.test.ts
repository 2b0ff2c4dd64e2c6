/** contract: `wakeful serve --port --db --watch --open`, and what its log looks like. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { ROOT } from '../../src/root.ts'
import { folder, post, Server } from '../process/server.ts'
import { until } from '../setup/until.ts'

/** An app whose agent says this. */
const appSaying = (words: string) => `
import { agent } from '${pathToFileURL(join(ROOT, 'dist/index.js')).href}'
export default { agents: { bot: agent((turn) => turn.say('${words}')) } }
`

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

async function said(url: string, key: string): Promise<string[]> {
  const reply = await fetch(`${url}/v1/sessions/${key}/effects`)
  const { data = [] } = (await reply.json()) as { data?: { payload: { content: string } }[] }
  return data.map(({ payload }) => payload.content)
}

it('listens where --port says, on the database that --db names', async () => {
  const port = await freePort()
  const env = { PORT: '1', DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const server = new Server(env, { args: ['--port', String(port), '--db', 'memory:'] })
  expect(await server.address).toBe(`http://127.0.0.1:${port}`)
  await until('it is ready', () => server.stderr.includes('"ready"'))
  // Nobody reads along: each line is JSON.
  for (const line of server.stderr.trim().split('\n'))
    expect(JSON.parse(line)).toHaveProperty('level')
  const wrong = new Server({}, { args: ['--port', 'x', '--db', 'memory:'] })
  expect((await wrong.exited).code).not.toBe(0)
  expect(wrong.stderr).toContain('PORT: got "x"')
})

it('starts again with --watch when the module changes, and ends in order', async () => {
  const home = folder()
  const app = join(home, 'app.mjs')
  writeFileSync(app, appSaying('first'))
  const port = String(await freePort())
  const args = [app, '--watch', '--port', port, '--db', 'memory:']
  const server = new Server({}, { args, folder: home })
  const url = await server.address
  const answers = async (words: string) => {
    await until(`it says ${words}`, async () => {
      const key = `ann:bot:${words}`
      try {
        await post(url, key, { text: 'hi' })
        return (await said(url, key)).includes(words)
      } catch {
        // Between the two there is nobody.
        return false
      }
    })
  }
  await answers('first')
  writeFileSync(app, appSaying('second'))
  await answers('second')
  await server.end('SIGTERM')
  expect((await server.exited).code).toBe(0)
  await expect(fetch(`${url}/healthz`)).rejects.toThrow()
})

it('opens the console with --open', async () => {
  const home = folder()
  const tools = join(home, 'bin')
  mkdirSync(tools)
  for (const name of ['xdg-open', 'open']) {
    const opener = join(tools, name)
    writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > ${join(home, 'opened')}\n`)
    chmodSync(opener, 0o755)
  }
  const PATH = `${tools}:${process.env.PATH}`
  const server = new Server({ PATH }, { args: ['--open', '--db', 'memory:'] })
  const url = await server.address
  const opened = join(home, 'opened')
  await until('it was opened', () => existsSync(opened) && readFileSync(opened, 'utf8') !== '')
  expect(readFileSync(opened, 'utf8')).toBe(`${url}/`)
})
