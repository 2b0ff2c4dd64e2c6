/** What an operation says to the app is said when its change is there to be seen, and not at all when it is not. */
import { describe, expect, it } from 'vitest'
import { afterCommit, type Context, notify, operation } from '../../src/api/contract.ts'
import { perform } from '../../src/api/perform.ts'
import type { Db } from '../../src/store/db.ts'

const INPUT = { params: undefined, query: undefined, body: undefined }

function scene(commit: () => void) {
  const said: string[] = []
  const db = {
    kind: 'pglite',
    schema: 'wakeful',
    now: () => null,
    time: async () => 0,
    query: async () => [],
    exec: async () => undefined,
    tx: async (work: (tx: Db) => Promise<unknown>) => {
      const answer = await work(db)
      commit()
      said.push('committed')
      return answer
    },
  } as unknown as Db
  const kernel = {
    changed: (topic: string) => said.push(topic),
    work: { dropFiles: (_bucket: number, id: string) => said.push(`files of ${id}`) },
  } as unknown as Context['kernel']
  const ctx = {
    db,
    kernel,
    actor: { role: 'admin', userId: null, keyId: null, actAs: false },
    requestId: 'r',
  } as unknown as Context
  return { ctx, said }
}

const deletion = operation({
  owner: 'caller',
  name: 'delete_it',
  method: 'DELETE',
  path: '/v1/it',
  tag: 'Work',
  summary: 's',
  roles: ['admin'],
  output: null,
  async run(ctx) {
    notify(ctx, 'clock')
    afterCommit(ctx, () => ctx.kernel.work.dropFiles(1, 'w'))
    return { body: null }
  },
})

describe('a change', () => {
  it('tells the app after its commit', async () => {
    const { ctx, said } = scene(() => undefined)
    await perform(deletion, ctx, INPUT)
    expect(said).toEqual(['committed', 'clock', 'files of w'])
  })

  it('that does not commit removes no file and wakes nobody', async () => {
    const { ctx, said } = scene(() => {
      throw new Error('the connection broke')
    })
    await expect(perform(deletion, ctx, INPUT)).rejects.toThrow('broke')
    expect(said).toEqual([])
  })
})
