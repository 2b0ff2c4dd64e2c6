/** The house of rehearsals: whatever becomes of one, the next one finds it in order. */
import { expect, it } from 'vitest'
import { House, type Room } from '../../src/packs/rehearsal/house.ts'
import { afterEachTest } from '../setup/ends.ts'

const [FROM, TO] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')]
const play = (room: Room) =>
  room.play(
    {
      ...{ from: FROM, to: TO, run: false, promotedMax: 10, timeMaxMs: 10_000 },
      roles: { names: [], removed: [], executors: [] },
      setting: {
        policy: { autonomy: true, maxConsecutive: 3, cooldownMs: 0 },
        wakesByUrl: false,
      },
    },
    room.signal,
  )

it('a thread that has ended is told to whoever waits for it, and the next rehearsal has another', async () => {
  const troubles: unknown[] = []
  const house = new House((_, error) => troubles.push(error))
  afterEachTest(() => house.close())
  const broken = house.rehearse(async (room) => {
    await room.store.close()
    return play(room)
  })
  await expect(broken).rejects.toThrow('has ended')
  expect(await house.rehearse(play)).toEqual({ to: TO, promoted: 0, cut: null })
  expect(troubles).toHaveLength(1)
})
