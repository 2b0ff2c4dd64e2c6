/**
 * Looking up what is shown at the door. Everything shown is looked up, also from an address that has shown much that was
 * wrong: so a flood of wrong keys must not keep right ones waiting. What bounds it:
 * - what has not the shape of a key or a ticket never gets here;
 * - look-ups that arrive together share one statement, one at a time for keys and one for tickets: a flood takes two of
 *   the eight connections for requests, and a right key waits for the batch under way and its own;
 * - what was wrong a moment ago is wrong without asking (bounded, the oldest goes first).
 */
import { Refusal } from '../../core/errors.ts'
import { keepNewest } from '../../core/newest.ts'
import { type LiveKey, liveKeys } from '../../features/identity/key-rows.ts'
import { type TakenTicket, takeTickets } from '../../features/identity/once-rows.ts'
import type { Db } from '../../store/db.ts'
import { GroupCommit } from '../../store/group.ts'

const BATCH_MAX = 500
const QUEUE_MAX = 20_000
const WRONG_MAX = 10_000
/** A key that is not there will not come: its secret is made with its row. Yet nothing is held for true for ever. */
const WRONG_MS = 60_000
/** The use of a key is noted no more often than this. */
const NOTED_MS = 60_000

export class Lookups {
  readonly #keys: GroupCommit<string, LiveKey | null>
  readonly #tickets: GroupCommit<Buffer, TakenTicket | null>
  /** By the hash of what was shown: until when it is wrong without asking. */
  readonly #wrong = new Map<string, number>()
  readonly #elapsedMs: () => number
  /** Grows with each word of a revoke. */
  #heard = 0

  constructor(db: Db, elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
    const bounds = { batchMax: BATCH_MAX, queueMax: QUEUE_MAX, lanes: 1, onFull: tooManyWait }
    this.#keys = new GroupCommit({
      ...bounds,
      commit: async (ids) => {
        const rows = await liveKeys(db, [...new Set(ids)], NOTED_MS)
        const found = new Map(rows.map((row) => [row.id, row]))
        return ids.map((id) => found.get(id) ?? null)
      },
    })
    this.#tickets = new GroupCommit({
      ...bounds,
      commit: async (hashes) => {
        const rows = await takeTickets(db, hashes)
        const found = new Map(rows.map((row) => [row.hash.toString('hex'), row]))
        return hashes.map((hash) => {
          const taken = found.get(hash.toString('hex')) ?? null
          // Shown twice at once, it still opens one socket.
          found.delete(hash.toString('hex'))
          return taken
        })
      },
    })
  }

  /** The key as it is now: what was read before word of a revoke came may be older than the revoke. */
  async key(id: string): Promise<LiveKey | null> {
    for (;;) {
      const heard = this.#heard
      const row = await this.#keys.submit(id)
      if (row === null || heard === this.#heard) return row
    }
  }

  ticket(hash: Buffer): Promise<TakenTicket | null> {
    return this.#tickets.submit(hash)
  }

  revokeHeard(): void {
    this.#heard++
  }

  isWrong(digest: string): boolean {
    return this.#elapsedMs() < (this.#wrong.get(digest) ?? Number.NEGATIVE_INFINITY)
  }

  noteWrong(digest: string): void {
    keepNewest(this.#wrong, digest, this.#elapsedMs() + WRONG_MS, WRONG_MAX)
  }
}

function tooManyWait(): Refusal {
  const text = 'too many requests wait to be let in; try again soon'
  return new Refusal('unavailable', text, { retryAfterMs: 1000 })
}
