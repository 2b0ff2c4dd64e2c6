/** Turns in flight: their events are written with their outcomes. What takes longer gets its event while it runs. */
import { performance } from 'node:perf_hooks'
import { lockAndBind } from '../features/sessions/in-flight-rows.ts'
import { type ClaimedTurn, endLeases } from '../features/sessions/rows.ts'
import type { InFlight } from '../features/sessions/turn-rows.ts'
import type { Db } from '../store/db.ts'
import { commitTx } from '../store/due.ts'
import type { Run } from './run.ts'

/** How long an agent may run before the log shows its event, and the other timers of its session follow. */
const IN_FLIGHT_MS = 100

export interface MaybeInFlight {
  readonly claim: ClaimedTurn
  readonly token: string
  readonly run: Run
  readonly claimedMs: number
  /** Null once its event exists. */
  inFlight: InFlight | null
}

export class InFlightTurns {
  readonly #db: Db
  readonly #onError: (error: unknown) => void
  /** By the token of a batch, how many of its turns are in flight. Its row in the database is there until none is. */
  readonly #open = new Map<string, number>()
  #ending: Promise<void> = Promise.resolve()
  #binding: Promise<void> | null = null

  constructor(db: Db, onError: (error: unknown) => void) {
    this.#db = db
    this.#onError = onError
  }

  begin(token: string, turns: readonly ClaimedTurn[]): void {
    const count = turns.filter(({ inFlight }) => inFlight !== undefined).length
    if (count > 0) this.#open.set(token, count)
  }

  /** Its turn has ended, or its event exists. */
  end(turn: MaybeInFlight): void {
    if (turn.inFlight === null) return
    turn.inFlight = null
    const left = (this.#open.get(turn.token) ?? 0) - 1
    if (left > 0) this.#open.set(turn.token, left)
    if (left !== 0) return
    this.#open.delete(turn.token)
    // A row that stays keeps nothing back once its time is over.
    this.#ending = this.#ending.then(() => endLeases(this.#db, [turn.token])).catch(this.#onError)
  }

  /** Makes the events of turns whose agents have been running for a while. */
  sweep(turns: Iterable<MaybeInFlight>): void {
    if (this.#binding !== null || this.#open.size === 0) return
    const before = performance.now() - IN_FLIGHT_MS
    const long: MaybeInFlight[] = []
    for (const turn of turns)
      if (turn.inFlight !== null && turn.claimedMs < before && !turn.run.over) long.push(turn)
    if (long.length > 0) this.#binding = this.#bind(long)
  }

  async #bind(turns: readonly MaybeInFlight[]): Promise<void> {
    const sessions = turns.map(({ claim }) => ({ bucket: claim.bucket, key: claim.session_key }))
    try {
      await commitTx(this.#db, (tx) => lockAndBind(tx, sessions))
      for (const turn of turns) this.end(turn)
    } catch (error) {
      this.#onError(error)
    } finally {
      this.#binding = null
    }
  }

  async settle(): Promise<void> {
    await this.#binding
    await this.#ending
  }
}
