/** Retention: old checkpoints go, the one a session stands on stays; an age, where set, clears what is done. */
import { expect, it } from 'vitest'
import { prunerService } from '../../src/engine/pruner.ts'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t1'

eachStore('the pruner', (store) => {
  it('keeps the newest checkpoints of a session, and its state', async () => {
    const w = await world(store, {
      bot: (turn) => {
        turn.state.count = Number(turn.state.count ?? 0) + 1
      },
    })
    for (let n = 0; n < 8; n++) await w.say(KEY, `m${n}`)
    await w.settle()
    // The one the session stands on has, by a skewed clock, the smallest id and the oldest time.
    await w.query(
      `update wakeful.sessions set checkpoint_id = (select min(checkpoint_id) from wakeful.checkpoints)`,
    )
    const prune = prunerService({
      db: w.app.store.db,
      retention: { checkpointsKept: 3, keepMs: null },
    })
    expect((await prune.tick()).did).toBe(4)
    expect((await prune.tick()).did).toBe(0)
    const left = await w.query<{ checkpoint: string }>(
      'select checkpoint from wakeful.checkpoints order by created_at, checkpoint_id',
    )
    expect(left.map((row) => JSON.parse(row.checkpoint).count)).toEqual([1, 6, 7, 8])
    expect(await w.query('select 1 from wakeful.events')).toHaveLength(8)
  })

  it('with an age set, deletes done events, turns, effects and timers, and nothing that waits', async () => {
    const w = await world(store, {
      bot: (turn) => {
        turn.reply('hello')
        turn.followUp('soon', { inSeconds: 1 })
        turn.followUp('late', { inSeconds: 10 * 86_400 })
        if (turn.event.type === 'timer') turn.cancelFollowUp('soon')
      },
    })
    await w.say(KEY, 'hi')
    await w.advanceBy(5 * 86_400_000)
    const prune = prunerService({
      db: w.app.store.db,
      retention: { checkpointsKept: 20, keepMs: 86_400_000 },
    })
    while ((await prune.tick()).did > 0);
    expect(await w.query('select 1 from wakeful.events')).toHaveLength(0)
    expect(await w.query('select 1 from wakeful.turns')).toHaveLength(0)
    const effects = await w.query<{ status: string; type: string }>(
      'select distinct status, type from wakeful.effects',
    )
    expect(effects).toEqual([{ status: 'pending', type: 'send_message' }])
    const timers = await w.query<{ timer_id: string; status: string }>(
      'select timer_id, status from wakeful.autonomy_timers',
    )
    expect(timers).toEqual([{ timer_id: 'late', status: 'pending' }])
    await w.say(KEY, 'still there?')
    await w.settle()
    expect((await w.query<{ seq: number }>('select seq from wakeful.events'))[0]?.seq).toBe(3)
  })
})
