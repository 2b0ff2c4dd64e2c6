/** `wakeful keys …`, and retention of what identity keeps. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { writeAudit } from '../../src/features/identity/audit-rows.ts'
import { deleteEnded, keepTicket } from '../../src/features/identity/once-rows.ts'
import { pruneOlder } from '../../src/store/prune.ts'
import { ensureBuilt, folder, Server, SHORT_LIVED } from '../process/server.ts'
import { eachStore } from '../setup/stores.ts'
import { bareStore } from '../store/stores.ts'

const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

eachStore('the command line', (store) => {
  it('makes the first admin key, which opens a server without one in its environment, lists and revokes', async () => {
    ensureBuilt()
    const DATABASE_URL =
      store.name === 'pglite' ? `pglite:${folder()}/data` : await store.database()
    const { PATH = '' } = process.env
    const run = (...args: string[]) => {
      const env = { PATH, DATABASE_URL }
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [...SHORT_LIVED, BIN, 'keys', ...args],
        {
          env,
        },
      )
      return { status, out: String(stdout).trim(), err: String(stderr).trim() }
    }
    const refused = new Server({ DATABASE_URL, WAKEFUL_AUTH: 'keys' })
    expect((await refused.exited).code).toBe(2)
    expect(refused.stderr).toContain('wakeful keys create --role admin')
    expect(run('create', '--role', 'root').status).toBe(2)
    expect(run('create', '--role', 'user').err).toContain('user_id: a key of role user needs one')
    const made = JSON.parse(run('create', '--role', 'admin', '--json').out)
    const server = await Server.start({ DATABASE_URL, WAKEFUL_AUTH: 'keys' })
    const headers = { authorization: `Bearer ${made.key}` }
    const audit = await fetch(`${server.url}/v1/audit`, { headers })
    const { data } = (await audit.json()) as { data: { actor_key: string; operation: string }[] }
    expect(data.map((row) => [row.actor_key, row.operation])).toEqual([
      ['command line', 'create_key'],
    ])
    if (store.name === 'pglite')
      expect(run('list').err).toContain('ask the running server: /v1/keys')
    await server.end('SIGTERM')
    expect(server.stderr + server.stdout).not.toContain(made.key)
    const listed = run('list')
    expect(listed.out).toMatch(new RegExp(`^${made.id}  admin .* used 2`))
    // Opening the embedded store takes a while; the rest does not depend on it.
    if (store.name === 'pglite') return
    const shown = run('create', '--role', 'agent', '--user', 'ann', '--agent', 'bot').out
    expect(shown).toMatch(/^wk_agent_\S+\n\nThis is key [0-9a-f-]{36}\./)
    expect(run('list', '--json').out).not.toContain(made.key.slice(-43))
    expect(run('revoke', made.id).out).toBe(`revoked ${made.id}`)
    expect(run('revoke', newId()).status).toBe(1)
    expect(run('list').out).toContain('revoked 2')
    expect(run('webhook-secret').out).toMatch(/^whsec_/)
  })

  it('retention: the audit log by age, tickets by their end', async () => {
    let now = new Date('2026-01-01T00:00:00Z')
    const { db } = await bareStore(await store.database(), { now: () => now })
    const head = { keyId: 'k', role: 'user', userId: 'ann', actedFor: false, operation: 'o' }
    const entry = { ...head, requestId: 'r', summary: '', objectId: null, owner: 'ann' }
    const ticket = () => ({ hash: Buffer.from(newId()), keyId: null, actor: '{}', seconds: 30 })
    await writeAudit(db, [entry, entry])
    await keepTicket(db, ticket())
    now = new Date('2026-01-11T00:00:00Z')
    await writeAudit(db, [entry])
    await keepTicket(db, ticket())
    expect(
      await pruneOlder(
        db,
        { keepMs: 10 * 86_400_000 - 1, timersKeptMs: 10 * 86_400_000 - 1, archive: null },
        500,
      ),
    ).toBe(2)
    expect(await deleteEnded(db, 500)).toBe(1)
    expect(await db.query('select 1 from wakeful.audit_log')).toHaveLength(1)
    expect(await db.query('select 1 from wakeful.tickets')).toHaveLength(1)
  })
})
