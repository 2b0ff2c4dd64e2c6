/** The library reads the environment as the server does. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, vi } from 'vitest'
import { withoutPassword } from '../../src/core/variables.ts'
import { agent, wakeful } from '../../src/index.ts'
import { ROOT } from '../../src/root.ts'
import { testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import { eachStore } from '../setup/stores.ts'
import { folder, Server } from './server.ts'

const agents = { bot: agent(() => undefined) }
const NOWHERE = 'postgres://reader:secret@127.0.0.1:1/nowhere'

afterEachTest(() => {
  vi.unstubAllEnvs()
})

/** An app that names no database, port or log level. */
function appIn(home: string): string {
  const library = pathToFileURL(join(ROOT, 'dist/index.js')).href
  const file = join(home, 'app.mjs')
  writeFileSync(
    file,
    `import { agent, wakeful } from '${library}'
const app = await wakeful({ agents: { bot: agent(() => undefined) } })
console.log('listening on ' + (await app.listen()))
process.once('SIGTERM', () => app.stop())`,
  )
  return file
}

eachStore('a library app without options', (store) => {
  it('opens the database of DATABASE_URL and logs it', async () => {
    const database = await store.database()
    const home = folder()
    const server = await Server.start(
      { DATABASE_URL: database },
      { bin: appIn(home), folder: home },
    )
    const health = await (await fetch(`${server.url}/healthz`)).json()
    expect(health).toMatchObject({ database: store.name === 'pglite' ? 'pglite' : 'postgres' })
    await server.end('SIGTERM')
    const lines = server.stderr.split('\n').filter((line) => line.includes('opened the database'))
    expect(lines).toEqual([expect.stringContaining(`["${withoutPassword(database)}"]`)])
  })
})

describe('options of the library', () => {
  it('win over the environment', async () => {
    vi.stubEnv('DATABASE_URL', NOWHERE)
    vi.stubEnv('WAKEFUL_SHARDS', `${NOWHERE} ${NOWHERE}`)
    vi.stubEnv('PORT', '1')
    const app = await wakeful({ database: 'memory:', port: 0, agents, env: { LOG_LEVEL: 'warn' } })
    const url = await app.listen()
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({ database: 'pglite' })
    await app.stop()
  })

  it('are refused by name where the environment holds a wrong value', async () => {
    vi.stubEnv('DATABASE_URL', 'mysql://x')
    await expect(wakeful({ agents })).rejects.toThrow('DATABASE_URL: got another value')
  })
})

describe('the test world', () => {
  it('reads no environment, and keeps nothing unless it is told where', async () => {
    vi.stubEnv('DATABASE_URL', NOWHERE)
    const world = await testWakeful({ agents })
    expect(world.app.store.kind).toBe('pglite')
    await world.stop()
  })
})
