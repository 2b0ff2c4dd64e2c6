/** Invariant 12: an operation reaches the rows of its owner alone, whatever its queries ask for. */
import { expect, it } from 'vitest'
import { localActor } from '../../src/api/callers/local.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

eachStore('the reach of an operation', (store) => {
  it('invariant 12: a query without an owner shows one owner to them, and all to the installation', async () => {
    const w = await world(store, { bot: () => undefined })
    for (const user of ['ann', 'ben']) await w.say(`${user}:bot:t`, 'hello')
    const seenBy = async (owner?: string) => {
      const caller = { requestId: 'r', signal: new AbortController().signal }
      const ctx = w.app.context(localActor(owner), caller)
      const { shards } = ctx
      const each = w.app.stores.all.map((_, number) => shards?.within(ctx, number) ?? ctx)
      const asked = each.map(({ db }) =>
        db.query<{ session_key: string }>('select session_key from wakeful.events'),
      )
      return (await Promise.all(asked))
        .flat()
        .map((row) => row.session_key)
        .sort()
    }
    expect(await seenBy('ann')).toEqual(['ann:bot:t'])
    expect(await seenBy()).toEqual(['ann:bot:t', 'ben:bot:t'])
  })
})
