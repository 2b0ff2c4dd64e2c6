/**
 * Who holds a socket, and no longer than their credentials stand: a socket is closed when its key ends or is revoked. Word
 * of a revoke makes that quick; asking again from time to time is the truth.
 */
import type { Actor } from '../api/contract.ts'

/** Who somebody is, by what, and how long that stands by itself. */
export interface Standing {
  readonly actor: Actor
  /** The key shown, and the one it was made from. None of ours: nothing to revoke. */
  readonly keyIds: readonly string[]
  /** Null: without end. */
  readonly leftMs: number | null
}

export interface VisitorsOptions {
  /** Which of these keys still stand. */
  readonly standing: (keyIds: readonly string[]) => Promise<ReadonlySet<string>>
  readonly recheckMs: number
  readonly elapsedMs: () => number
  readonly onError: (error: unknown) => void
}

/** A connection that stays open. */
export interface Visitor {
  on(event: 'close', done: () => void): unknown
  close(code: number, reason: string): void
  terminate(): void
}

interface Held {
  readonly keyIds: readonly string[]
  readonly endsMs: number
}

const NO_LONGER_VALID = 1008
/** A client that does not answer our goodbye is cut off. */
export const GOODBYE_MS = 2_000
/** A timer that ends a fraction too soon would find nothing ended. */
const TIMER_GRAIN_MS = 1

export class Visitors {
  readonly #options: VisitorsOptions
  readonly #held = new Map<Visitor, Held>()
  readonly #dismissed = new WeakSet<Visitor>()
  #timer: NodeJS.Timeout | null = null
  #dueMs = Number.POSITIVE_INFINITY
  #closed = false

  constructor(options: VisitorsOptions) {
    this.#options = options
  }

  add(socket: Visitor, { keyIds, leftMs }: Standing): void {
    const endsMs = this.#options.elapsedMs() + (leftMs ?? Number.POSITIVE_INFINITY)
    // What has no end and nothing to revoke need not be watched.
    if (keyIds.length === 0 && endsMs === Number.POSITIVE_INFINITY) return
    this.#held.set(socket, { keyIds, endsMs })
    socket.on('close', () => this.#held.delete(socket))
    this.#plan(endsMs)
  }

  /** Word of a revoke, of these keys or of who knows which. */
  dismiss(keyIds: readonly string[] | null): void {
    if (keyIds === null) {
      this.#recheck().catch(this.#options.onError)
      return
    }
    for (const [socket, held] of this.#held)
      if (held.keyIds.some((id) => keyIds.includes(id))) this.#sendAway(socket)
  }

  /** What it still says is not listened to. */
  wasDismissed(socket: Visitor): boolean {
    return this.#dismissed.has(socket)
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** The next look: after the interval, or when the first credentials end, whichever is sooner. */
  #plan(endsMs: number): void {
    if (this.#closed || this.#held.size === 0) return
    const { recheckMs, elapsedMs } = this.#options
    const leftMs = Math.max(0, endsMs - elapsedMs()) + TIMER_GRAIN_MS
    const waitMs = Math.min(recheckMs, leftMs)
    if (this.#timer !== null && this.#dueMs <= performance.now() + waitMs) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#dueMs = performance.now() + waitMs
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#recheck()
        .catch(this.#options.onError)
        .finally(() => this.#plan(this.#firstEndMs()))
    }, waitMs).unref()
  }

  #firstEndMs(): number {
    let first = Number.POSITIVE_INFINITY
    for (const { endsMs } of this.#held.values()) first = Math.min(first, endsMs)
    return first
  }

  async #recheck(): Promise<void> {
    const nowMs = this.#options.elapsedMs()
    for (const [socket, { endsMs }] of this.#held) if (endsMs <= nowMs) this.#sendAway(socket)
    const asked = new Set([...this.#held.values()].flatMap(({ keyIds }) => keyIds.slice(0, 1)))
    if (asked.size === 0) return
    const standing = await this.#options.standing([...asked])
    for (const [
      socket,
      {
        keyIds: [id],
      },
    ] of this.#held)
      if (id !== undefined && asked.has(id) && !standing.has(id)) this.#sendAway(socket)
  }

  #sendAway(socket: Visitor): void {
    this.#held.delete(socket)
    this.#dismissed.add(socket)
    socket.close(NO_LONGER_VALID, 'the key is no longer valid')
    setTimeout(() => socket.terminate(), GOODBYE_MS).unref()
  }
}
