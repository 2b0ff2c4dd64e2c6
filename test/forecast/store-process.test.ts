/** The store in a process of its own: transactions are what they are elsewhere. */
import { expect, it } from 'vitest'
import { openStoreProcess } from '../../packages/forecast/src/store-process.ts'
import { ensureMigrated } from '../../src/store/migrate.ts'
import { ownedBy } from '../../src/store/owned.ts'
import { OWNER_ROLE } from '../../src/store/roles.ts'
import { afterEachTest } from '../setup/ends.ts'

async function open() {
  const onError = (error: unknown) => {
    throw error
  }
  const { store } = await openStoreProcess({ now: () => null, onError }, (_, error) =>
    onError(error),
  )
  afterEachTest(() => store.close())
  await ensureMigrated(store.migrations, 'auto')
  await store.db.exec('create table kept (n int primary key)')
  const numbers = async () => {
    const rows = await store.db.query<{ n: number }>('select n from kept order by n')
    return rows.map(({ n }) => n)
  }
  return { db: store.db, numbers }
}

it('invariant 1: what is committed is there, and of what fails nothing is', async () => {
  const { db, numbers } = await open()
  await db.tx((tx) => tx.query('insert into kept values (1)'))
  await db.tx(async () => undefined)
  const broken = db.tx(async (tx) => {
    await tx.query('insert into kept values (2)')
    throw new Error('changed my mind')
  })
  await expect(broken).rejects.toThrow('changed my mind')
  const twice = db.tx(async (tx) => {
    await tx.query('insert into kept values (3)')
    await tx.query('insert into kept values (1)')
  })
  await expect(twice).rejects.toThrow('duplicate key')
  const swallowed = db.tx((tx) => tx.query('insert into kept values (1)').catch(() => []))
  await expect(swallowed).rejects.toThrow('nothing was committed')
  await db.tx((tx) => tx.query('insert into kept values (4)'))
  expect(await numbers()).toEqual([1, 4])
})

it('invariant 1: also where a transaction has given up its rights, which its end tells of', async () => {
  const { db, numbers } = await open()
  await db.exec(`grant all on kept to ${OWNER_ROLE}`)
  const owned = ownedBy(db, 'ann')
  await owned.query('insert into kept values (1)')
  await db.tx((tx) => tx.query('insert into kept values (2)'))
  expect(await numbers()).toEqual([1, 2])
})
