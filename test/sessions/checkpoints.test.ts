/** Invariant 3, the other way round: what changes nothing leaves no checkpoint, and loses none. */
import { expect, it } from 'vitest'
import { eachStore } from '../setup/stores.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t'

eachStore('checkpoints', (store) => {
  it('a turn that asks for nothing and changes nothing ends in the checkpoint it began with', async () => {
    const seen: unknown[] = []
    const w = await world(store, {
      bot: (turn) => {
        seen.push(turn.state.count ?? null)
        const { timer_id: id } = turn.event.payload as { timer_id?: string }
        if (id === undefined) {
          turn.state.count = 1
          turn.schedule('quiet', { in: 60, cancelOnReply: true })
          turn.schedule('counts', { in: 120, cancelOnReply: true })
          turn.schedule('speaks', { in: 180, cancelOnReply: true })
        }
        if (id === 'counts') turn.state.count = 2
        if (id === 'speaks') turn.say('still here')
      },
    })
    await w.say(KEY, 'go')
    await w.settle()
    for (let minute = 0; minute < 3; minute++) await w.advanceBy(60_000)
    expect(seen).toEqual([null, 1, 1, 2])
    const turns = await w.query<{ checkpoint_id: string | null }>(
      'select checkpoint_id from wakeful.turns order by event_seq',
    )
    expect(turns.map((turn) => turn.checkpoint_id !== null)).toEqual([true, false, true, true])
    const points = await w.query<{ checkpoint_id: string; seq: number }>(
      `select checkpoint_id, (metadata ->> 'event_seq')::int as seq from wakeful.checkpoints order by 2`,
    )
    expect(points.map((point) => point.seq)).toEqual([1, 3, 4])
    const [head] = await w.query('select checkpoint_id from wakeful.sessions')
    expect(head).toEqual({ checkpoint_id: points.at(-1)?.checkpoint_id })
  })
})
