/** What the images and the unit in deploy/ ask of it, without them: no root, nothing written but its data, no home, an orderly end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { folder, post, Server } from '../process/server.ts'
import { until } from '../setup/until.ts'
import { type Installed, install, ROOT } from './installed.ts'

const NOBODY = 1000
const DOCKERFILE = join(ROOT, 'deploy/Dockerfile')
/** Only root can become somebody else; anybody else is nobody already. */
const asNobody = process.getuid?.() === 0 ? { as: NOBODY } : {}
const SLOW_APP = `
import { setTimeout } from 'node:timers/promises'
import { agent } from 'wakeful'
export default { agents: { slow: agent(async (turn) => {
  await setTimeout(500)
  turn.say('done')
}) } }
`

function readOnly(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) readOnly(join(path, entry.name))
  chmodSync(path, 0o555)
}

let installed: Installed
let data = ''
beforeAll(async () => {
  installed = await install()
  writeFileSync(join(installed.home, 'app.mjs'), SLOW_APP)
  readOnly(installed.home)
  const outside = folder()
  chmodSync(outside, 0o755)
  data = join(outside, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (asNobody.as !== undefined) chownSync(data, NOBODY, NOBODY)
})

it('serves as nobody from a folder that it cannot write, without a home, and ends in order in the middle of a turn', async () => {
  const env = {
    HOST: '127.0.0.1',
    NODE_ENV: 'production',
    WAKEFUL_AUTH: 'open',
    DATABASE_URL: `pglite:${data}/store`,
    WAKEFUL_FILES: `${data}/files`,
  }
  const { bin, home } = installed
  const place = { bin, folder: home, args: ['app.mjs'], ...asNobody }
  const first = await Server.start(env, place)
  expect(await post(first.url, 'ann:slow:t', { text: 'go' })).toMatchObject({ status: 202 })
  await until('the turn is under way', async () => {
    const { data } = await asked(first.url, 'turns')
    return data.some(({ status }) => status === 'running')
  })
  expect(await healthcheck(first.url)).toBe(0)
  expect(await first.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(await healthcheck(first.url)).toBe(1)
  expect(statSync(`${data}/store/PG_VERSION`).uid).toBe(asNobody.as ?? process.getuid?.())

  const second = await Server.start(env, place)
  await until('it is answered, before or after', async () => {
    const { data } = await asked(second.url, 'effects')
    return data.length === 1
  })
  expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

/** As the image's Dockerfile says it; answers with its end. */
async function healthcheck(url: string): Promise<number | null> {
  const said = /HEALTHCHECK[^\n]*\\\n\s+CMD (\[.*\])$/m.exec(readFileSync(DOCKERFILE, 'utf8'))?.[1]
  const [, ...args] = JSON.parse(said ?? '') as string[]
  const child = spawn(process.execPath, args, { env: { PORT: new URL(url).port } })
  const [code] = (await once(child, 'close')) as [number | null]
  return code
}

async function asked(url: string, what: string): Promise<{ data: { status: string }[] }> {
  const answer = await fetch(`${url}/v1/sessions/ann:slow:t/${what}`)
  return (await answer.json()) as { data: { status: string }[] }
}
