/** `Idempotency-Key` runs an operation in a transaction: what changed in it is said after the commit, or not at all. */
import { describe, expect, it } from 'vitest'
import { type Context, notify, operation, ROLES } from '../../src/api/contract.ts'
import { onceByKey } from '../../src/api/once.ts'
import type { Db } from '../../src/store/db.ts'
import { ADMIN, context } from './door.ts'

const said: unknown[] = []
const store = {
  claimKey: async () => true,
  keptAnswer: async () => undefined,
  completeKey: async () => {
    said.push('written')
  },
}
/** A transaction that is run `attempts` times, as after a deadlock, and commits the last. */
const database = (attempts: number, fails = false): Db => {
  const db: Db = {
    kind: 'pglite',
    schema: 'wakeful',
    now: () => null,
    time: async () => 0,
    query: async () => [],
    exec: async () => undefined,
    async tx(work) {
      for (let n = 1; n < attempts; n++) await work(db)
      const result = await work(db)
      if (fails) throw new Error('the commit failed')
      said.push('committed')
      return result
    },
  }
  return db
}
const op = operation({
  owner: 'caller',
  name: 'change',
  method: 'POST',
  path: '/v1/things',
  tag: 'Things',
  summary: 'Change',
  creates: true,
  roles: ROLES,
  output: null,
  async run(ctx) {
    expect(ctx.inTransaction).toBe(true)
    notify(ctx, 'turns')
    notify(ctx, 'outbox', ['k'])
    return { body: {} }
  },
})
const run = async (db: Db) => {
  said.length = 0
  const { signal } = new AbortController()
  const made = await context(db)({ actor: ADMIN, requestId: 'r', signal, headers: {} })
  const changed: Context['kernel']['changed'] = (topic, keys) =>
    said.push(keys === undefined ? topic : [topic, ...keys])
  const ctx = { ...made, kernel: { ...made.kernel, changed } as Context['kernel'] }
  const input = { params: undefined, query: undefined, body: undefined }
  const request = { key: 'key-1', method: 'POST', path: '/v1/things', body: {} }
  await onceByKey(store)(op, ctx, input, request)
}

describe('hints of an operation with an Idempotency-Key', () => {
  it('come after the commit', async () => {
    await run(database(1))
    expect(said).toEqual(['written', 'committed', 'turns', ['outbox', 'k']])
  })

  it('come once when the transaction had to be run again', async () => {
    await run(database(3))
    expect(said.slice(3)).toEqual(['committed', 'turns', ['outbox', 'k']])
  })

  it('do not come when nothing was committed', async () => {
    await expect(run(database(1, true))).rejects.toThrow('the commit failed')
    expect(said).toEqual(['written'])
  })
})
