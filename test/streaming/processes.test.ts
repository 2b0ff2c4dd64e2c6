/** Streaming across real processes on one PostgreSQL: deltas reach sockets anywhere, and a death in the middle withdraws them. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { folder, Server } from '../process/server.ts'
import { Client } from '../sessions/live.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { Events } from './events.ts'

const WHOLE = Array.from({ length: 200 }, (_, nth) => `${nth} `).join('')

const made: string[] = []
afterAll(() => dropDatabases(made))

it('contract: sockets of every process see the text; after kill -9 in the middle it is withdrawn, and the next process writes it whole', async () => {
  const witness = join(folder(), 'pids')
  const env = {
    DATABASE_URL: await postgresDatabase(made),
    WAKEFUL_APP: 'test/streaming/app.mjs',
    WAKEFUL_LEASE_MS: '2000',
    WITNESS: witness,
  }
  const servers = [await Server.start(env), await Server.start(env)]
  const key = 'ann:writer:main'
  const viewers = await Promise.all(
    servers.flatMap(({ url }) => [Client.open(url, key), Events.open(url, key)]),
  )
  await fetch(`${servers[0]?.url}/v1/sessions/${key}/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"text":"tell me"}',
  })
  const joined = (frames: readonly { type: string; text?: string }[]) =>
    frames.flatMap(({ type, text = '' }) => (type === 'delta' ? [text] : [])).join('')
  const draft = Array.from({ length: 21 }, (_, nth) => `draft ${nth} `).join('')
  for (const { frames } of viewers)
    await until('all of the draft', () => joined(frames as never) === draft)
  const [pid] = existsSync(witness) ? readFileSync(witness, 'utf8').split('\n') : []
  const victim = servers.findIndex((server) => server.pid === Number(pid))
  await servers[victim]?.end('SIGKILL')
  const left = viewers.slice(2 * (1 - victim), 2 * (1 - victim) + 2)
  for (const viewer of left) {
    const [message] = await viewer.hears(1)
    expect(message).toMatchObject({ type: 'message', content: WHOLE, in_reply_to: 1 })
    const seen = viewer.frames.filter(({ type }) => /^(delta|retract|message)$/.test(type))
    const cut = seen.findIndex(({ type }) => type === 'retract')
    expect(joined(seen.slice(0, cut))).toBe(draft)
    expect(seen[cut]).toEqual({ type: 'retract', turn: 1 })
    // On a busy machine a lease may be lost once more.
    const shown = joined(seen.slice(seen.findLastIndex(({ type }) => type === 'retract')))
    expect(WHOLE.startsWith(shown)).toBe(true)
    expect(shown).not.toBe('')
  }
})
