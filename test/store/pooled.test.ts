/**
 * Behind a pooler in transaction mode (`?pgbouncer=true`) nothing outlives its transaction on a connection: commits that must wait for
 * the disk do, whoever had the connection before (invariant 9). And what needs none of that works all the same.
 */
import { afterAll, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { openLive } from '../sessions/live.ts'
import { dropDatabases, postgresDatabase } from '../setup/stores.ts'
import { until } from '../setup/until.ts'

const made: string[] = []
afterAll(() => dropDatabases(made))
const options = { now: () => null, onError: () => undefined }
const SETTINGS = ['synchronous_commit', 'enable_seqscan', 'enable_sort', 'jit']

it('leaves no setting and no named statement on a connection, and listens to nobody', async () => {
  const url = await postgresDatabase(made)
  const own = await openStore(url, options)
  const pooled = await openStore(`${url}?pgbouncer=true`, options)
  try {
    const [plain] = await own.migrations.query(
      `select ${SETTINGS.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
    )
    for (const db of [pooled.db, pooled.engine, pooled.commits]) {
      for (const work of [db.query('select 1 as one'), db.tx((tx) => tx.query('select 2 as two'))])
        await work
      expect([db.reading, db.inOrder]).toEqual([undefined, undefined])
      const [seen] = await db.query(
        `select ${SETTINGS.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`,
      )
      expect(seen).toEqual(plain)
      const [{ count } = { count: -1 }] = await db.query<{ count: number }>(
        'select count(*)::int as count from pg_prepared_statements',
      )
      expect(count).toBe(0)
    }
    expect(pooled.listen).toBeNull()
  } finally {
    await own.close()
    await pooled.close()
  }
})

it('a conversation, a follow-up and a reminder go as they always do', async () => {
  const { app, call } = await openLive(`${await postgresDatabase(made)}?pgbouncer=true`, {
    bot(turn) {
      turn.say(turn.event.type)
      if (turn.event.type === 'user_message') turn.schedule('x', { in: 0 })
    },
  })
  try {
    const key = '/v1/sessions/ann:bot:t'
    expect((await call('POST', `${key}/messages`, { text: 'hello' })).status).toBe(202)
    await until('both are said', async () => {
      const { data } = (await call('GET', `${key}/effects`)).body
      return data.length === 2
    })
    const { data } = (await call('GET', `${key}/effects`)).body
    expect(data.map(({ payload }: { payload: { content: string } }) => payload.content)).toEqual([
      'user_message',
      'alarm',
    ])
  } finally {
    await app.stop()
  }
})
