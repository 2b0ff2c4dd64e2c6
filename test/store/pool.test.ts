/** What both stores promise about statements and transactions, whatever goes wrong inside them. */
import { expect, it } from 'vitest'
import { isUnavailable } from '../../src/store/db.ts'
import { oneInOrder } from '../../src/store/due.ts'
import { eachStore } from '../setup/stores.ts'
import { emptiedStore } from './stores.ts'

const KEYS = 'select key from wakeful.idempotency_keys order by key'
const ADD = `insert into wakeful.idempotency_keys (owner, key, fingerprint, created_at) values ('o', $1, 'f', now())`

eachStore('the door to SQL', (store) => {
  it('invariant 3: a transaction that fails leaves nothing, whatever its error looks like', async () => {
    const { db } = await emptiedStore(store)
    const errors = [
      new Error('an ordinary failure'),
      new Error('Connection terminated unexpectedly'),
      Object.assign(new Error('no space left'), { code: '53100' }),
      Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
    ]
    for (const error of errors) {
      const failing = db.tx(async (tx) => {
        await tx.query(ADD, ['never'])
        throw error
      })
      await expect(failing).rejects.toBe(error)
      // The next transaction commits its own and nothing else.
      await db.tx((tx) => tx.query(ADD, [`after ${errors.indexOf(error)}`]))
    }
    expect((await db.query<{ key: string }>(KEYS)).map((row) => row.key)).toEqual([
      'after 0',
      'after 1',
      'after 2',
      'after 3',
    ])
  })

  it('a single statement is read in index order, and the next one as the server likes', async () => {
    const { db } = await emptiedStore(store)
    const ask = `select current_setting('enable_sort') as sorts`
    expect(await oneInOrder(db, ask, [])).toEqual([{ sorts: 'off' }])
    expect(await db.query(ask)).toEqual([{ sorts: 'on' }])
  })

  it('invariant 9: a transaction whose failed statement was swallowed does not pretend to have committed', async () => {
    const { db } = await emptiedStore(store)
    const swallowing = db.tx(async (tx) => {
      await tx.query(ADD, ['lost'])
      await tx.query('select 1 / 0').catch(() => undefined)
      return 'acknowledged'
    })
    await expect(swallowing).rejects.toThrow()
    expect(await db.query(KEYS)).toEqual([])
  })

  it('invariant 14: statements that fail do not disturb those beside them', async () => {
    const { db } = await emptiedStore(store)
    const asked = Array.from({ length: 60 }, (_, n) =>
      n % 3 === 0
        ? db.query('select 1 / ($1::int - $1::int) as n', [n]).catch(async (error: unknown) => {
            // Asking again at once, while the failed statement's connection is being put away.
            expect(await db.query('select $1::int as n', [n])).toEqual([{ n }])
            throw error
          })
        : n % 3 === 1
          ? db.tx((tx) => tx.query('select $1::int as n', [n]))
          : db.query('select $1::int as n', [n]),
    )
    const answers = await Promise.allSettled(asked)
    for (const [n, answer] of answers.entries()) {
      if (n % 3 !== 0) expect(answer).toEqual({ status: 'fulfilled', value: [{ n }] })
      else expect(answer).toMatchObject({ status: 'rejected', reason: { code: '22012' } })
    }
  })

  it('serialization failures and deadlocks are tried again, bounded', async () => {
    const { db } = await emptiedStore(store)
    for (const code of ['40001', '40P01']) {
      const raise = `do $$ begin raise exception 'again' using errcode = '${code}'; end $$`
      let attempts = 0
      const third = await db.tx(async (tx) => {
        await tx.query(ADD, [code])
        if (++attempts < 3) await tx.exec(raise)
        return 'done'
      })
      expect([third, attempts]).toEqual(['done', 3])
      attempts = 0
      const hopeless = db.tx(async (tx) => {
        attempts++
        await tx.exec(raise)
      })
      await expect(hopeless).rejects.toMatchObject({ code })
      expect(attempts).toBe(7)
    }
    expect(await db.query(KEYS)).toEqual([{ key: '40001' }, { key: '40P01' }])
  })

  it('no other failure is tried again', async () => {
    const { db } = await emptiedStore(store)
    let attempts = 0
    const failing = db.tx(async (tx) => {
      attempts++
      await tx.query('select 1 / 0')
    })
    await expect(failing).rejects.toMatchObject({ code: '22012' })
    expect(attempts).toBe(1)
  })

  it('a transaction within a transaction joins it', async () => {
    const { db } = await emptiedStore(store)
    const outer = db.tx(async (tx) => {
      await tx.tx((inner) => inner.query(ADD, ['inner']))
      throw new Error('outer')
    })
    await expect(outer).rejects.toThrow('outer')
    expect(await db.query(KEYS)).toEqual([])
  })
})

it.each([
  [{ code: 'ECONNREFUSED' }, true],
  [{ code: 'ENOTFOUND' }, true],
  [{ code: 'EAI_AGAIN' }, true],
  [{ code: 'ETIMEDOUT' }, true],
  [{ code: '57P03' }, true],
  [{ code: '57P01' }, true],
  [{ code: '53300' }, true],
  [{ code: '25006' }, true],
  [{ message: 'Connection terminated unexpectedly' }, true],
  [{ message: 'Client was closed and is not queryable' }, true],
  [{ message: 'Query read timeout' }, true],
  [{ code: '23505' }, false],
  [{ code: '22P02' }, false],
  [{ code: '28P01' }, false],
  [{ code: '3D000' }, false],
  [{ message: 'the agent failed' }, false],
])('whether the database is unreachable or the request is wrong: %o is %s', (shape, away) => {
  expect(
    isUnavailable(Object.assign(new Error('message' in shape ? shape.message : ''), shape)),
  ).toBe(away)
})
