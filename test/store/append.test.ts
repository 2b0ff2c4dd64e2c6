/** Invariants 1 and 9: whoever appends holds the lock of the session first, and then sees what was done before. */
import { expect, it } from 'vitest'
import { newId } from '../../src/core/ids.ts'
import { appendEvents } from '../../src/features/sessions/event-rows.ts'
import { eachStore } from '../setup/stores.ts'
import { ref } from '../setup/worlds.ts'
import { emptiedStore } from './stores.ts'

const AT_ONCE = 8
const ROUNDS = 5
const BACKLOG = 3
const NEW_SESSIONS = 40

function message(clientId: string | null, session = ref('ann:bot:t')) {
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
  it('rule 38: a session that several make at once takes no more than fits', async () => {
    const { commits } = await emptiedStore(store)
    for (let n = 0; n < NEW_SESSIONS; n++) {
      const session = ref(`ann:bot:t${n}`)
      const told = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, place) =>
          appendEvents(commits, [message(`m${place}`, session)], BACKLOG),
        ),
      )
      const rows = told.flatMap(([row]) => (row ? [row] : []))
      const fresh = rows.filter((row) => row.fresh).map((row) => row.seq)
      expect(fresh.sort()).toEqual([1, 2, 3])
    }
  })
})
