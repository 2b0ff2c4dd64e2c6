/** The store in a process of its own: transactions are what they are elsewhere. */
import { spawn } from 'node:child_process'
import { expect, it } from 'vitest'
import { openStoreProcess } from '../../packages/forecast/src/store-process.ts'
import { ROOT } from '../../src/root.ts'
import { ensureMigrated } from '../../src/store/migrate.ts'
import { ownedBy } from '../../src/store/owned.ts'
import { rolesOf } from '../../src/store/roles.ts'
import { afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'

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
  await db.exec(`grant all on kept to ${rolesOf(db.schema).owner}`)
  const owned = ownedBy(db, 'ann')
  await owned.query('insert into kept values (1)')
  await db.tx((tx) => tx.query('insert into kept values (2)'))
  expect(await numbers()).toEqual([1, 2])
})

it('ends with the process that opened it, also where that was killed', async () => {
  const opener = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', OPENS_A_STORE],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const child = Number(await new Promise((heard) => opener.stdout.once('data', heard)))
  expect(isRunning(child)).toBe(true)
  opener.kill('SIGKILL')
  await until('the process of the store is gone', () => !isRunning(child))
})

/** Says the id of the process that it opens, once its store answers. */
const OPENS_A_STORE = `
  import { ChildProcess } from 'node:child_process'
  import { openStoreProcess } from './packages/forecast/src/store-process.ts'
  let pid
  const { unref } = ChildProcess.prototype
  ChildProcess.prototype.unref = function () {
    pid = this.pid
    unref.call(this)
  }
  const { store } = await openStoreProcess({ now: () => new Date(0), onError: () => {} }, () => {})
  await store.db.query('select 1')
  console.log(pid)
  setInterval(() => {}, 60_000)
`

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
