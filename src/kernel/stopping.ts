/** What a switch makes of turns: held with their sessions, their slots alone, or ended. */

import { holdSessions } from '../features/limits/stop-rows.ts'
import type { StopMove } from '../features/limits/stops.ts'
import type { DeferredRow } from '../features/people/deferred-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'
import { GroupCommit } from '../store/group.ts'
import type { Finished } from './commit.ts'
import { DEFERRED_BY_STOP, DROPPED, type Stops } from './stops.ts'

/** Its event waits: there is nothing to commit. */
export const HELD = 'held'

const BATCH_MAX = 500

interface Stopped {
  readonly claim: ClaimedTurn
  readonly token: string
  readonly slots: readonly DeferredRow[] | undefined
  readonly traceparent: string | null
}

export class Stopping {
  readonly #stops: Stops
  readonly #holds: GroupCommit<{ bucket: number; key: string; token: string }, null>

  constructor(db: Db, stops: Stops) {
    this.#stops = stops
    this.#holds = new GroupCommit({
      commit: async (held) => {
        await holdSessions(db, held)
        return held.map(() => null)
      },
      batchMax: BATCH_MAX,
      lanes: 1,
      queueMax: Number.POSITIVE_INFINITY,
      onFull: () => new Error('unreachable: the turns under way bound this queue'),
    })
  }

  /** Null: it may run. `unless`: what becomes of one that was aborted and is free by now. */
  async of(
    { claim, token, slots, traceparent }: Stopped,
    unless: StopMove = 'run',
  ): Promise<typeof HELD | Finished | null> {
    const move = this.#stops.turn(claim, slots)
    const finished = { claim, token, traceparent, result: null }
    switch (move === 'run' ? unless : move) {
      case 'run':
        return null
      case 'hold': {
        await this.#holds.submit({ bucket: claim.bucket, key: claim.session_key, token })
        // Resumed while it was being held: nothing would look at it again.
        if (this.#stops.turn(claim, slots) === 'run') await this.#stops.letGo()
        return HELD
      }
      case 'defer':
        return { ...finished, failure: null, held: DEFERRED_BY_STOP }
      case 'drop':
        return { ...finished, failure: DROPPED }
    }
  }
}
