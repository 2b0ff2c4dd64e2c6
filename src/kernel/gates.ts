/** What may end a turn before its agent is entered: a stop, a cancelled slot, the person's preferences, a limit. */

import { overWords } from '../features/limits/rules.ts'
import { holdSessions } from '../features/limits/stop-rows.ts'
import type { StopMove } from '../features/limits/stops.ts'
import { type DeferredRow, lateWith } from '../features/people/deferred-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Failure, Policy } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'
import { GroupCommit } from '../store/group.ts'
import type { Budgets } from './budgets.ts'
import type { Finished } from './commit.ts'
import { retryWhileUnavailable } from './leased-runs.ts'
import type { Meter } from './meter.ts'
import { heldBack } from './preferences.ts'
import { neverRun, type Run } from './run.ts'
import { DEFERRED_BY_STOP, DROPPED, type Stops } from './stops.ts'

/** Its event waits, or another has its lease: there is nothing to commit. */
export const HELD = 'held'

/** What a turn came to. */
export type Ending = typeof HELD | Pick<Finished, 'result' | 'failure' | 'held'>

const BATCH_MAX = 500

/** A turn that is about to run. */
export interface Due {
  readonly claim: ClaimedTurn
  readonly token: string
  /** Its slot was cancelled before the turn began. */
  readonly withdrawn: boolean
  /** What was deferred and is released by its event, as far as it was not cancelled since. */
  readonly slots: readonly DeferredRow[] | undefined
  readonly run: Run
}

/** Null: it does not end the turn. */
export type Gate = (due: Due) => Promise<Ending | null>

export function failed(failure: Failure): Ending {
  return { result: null, failure }
}

/** In the order in which they are asked: the first that answers ends the turn. */
export function gatesOf(
  options: {
    readonly claims: Db
    readonly policy: Policy
    readonly budgets: Budgets
    readonly meter: Meter
  },
  stopping: Stopping,
): Gate[] {
  const { claims, policy, budgets, meter } = options
  // Asked until the database answers: one that is away costs no turn.
  const whileAway = <T>(run: Run, ask: () => Promise<T>) =>
    retryWhileUnavailable(ask, {
      trouble: (error) => meter.trouble('turns', error),
      over: () => run.aborted,
    })
  return [
    (due) => stopping.of(due),
    async ({ claim, withdrawn }) => {
      const never = neverRun(claim, withdrawn)
      return never === null ? null : failed(never)
    },
    async ({ claim, slots, run }) => {
      const { bucket, session_key: key, user_id: userId, event_id: eventId } = claim
      const turn = { claim, result: null, ...(slots === undefined ? {} : { slots }) }
      const held = await heldBack(turn, policy.timezone ?? 'UTC', () =>
        whileAway(run, () => lateWith(claims, { bucket, key, userId, eventId })),
      )
      return held === null ? null : { result: null, failure: null, held }
    },
    async ({ claim, run }) => {
      const over = await whileAway(run, () => budgets.fire(claim))
      if (over === null) return null
      const text = `not run: over_budget, ${overWords(over)}`
      return failed({ cause: 'over_budget', terminal: true, retryAfterMs: 0, text })
    },
  ]
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
    { claim, token, slots }: Pick<Due, 'claim' | 'token' | 'slots'>,
    unless: StopMove = 'run',
  ): Promise<Ending | null> {
    const move = this.#stops.turn(claim, slots)
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
        return { result: null, failure: null, held: DEFERRED_BY_STOP }
      case 'drop':
        return { result: null, failure: DROPPED }
    }
  }
}
