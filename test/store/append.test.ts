/** Invariants 1 and 9: whoever appends holds the lock of the session first, and then sees what was done before. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { appendEvents } from '../../src/store/sessions/events.ts'
import { eachStore } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { emptiedStore } from './stores.ts'

const AT_ONCE = 8
const ROUNDS = 5
const session = ref('ann:bot:t')

function message(clientId: string | null) {
  const payload = JSON.stringify({ text: 'hello' })
  return { session, id: newId(), type: 'user_message' as const, payload, clientId }
}

eachStore('appends side by side', (store) => {
  it('invariant 9: of one client id there is one event, and everybody is told the same', async () => {
    const { commits } = await emptiedStore(store)
    for (let round = 1; round <= ROUNDS; round++) {
      const told = await Promise.all(
        Array.from({ length: AT_ONCE }, () => appendEvents(commits, [message(`m${round}`)])),
      )
      const rows = told.flatMap(([row]) => (row ? [row] : []))
      expect(rows).toHaveLength(AT_ONCE)
      expect(new Set(rows.map((row) => `${row.id} ${row.seq}`))).toEqual(
        new Set([`${rows[0]?.id} ${round}`]),
      )
      expect(rows.filter((row) => row.fresh)).toHaveLength(1)
    }
  })
})
