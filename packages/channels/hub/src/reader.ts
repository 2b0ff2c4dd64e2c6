/**
 * Polls a vendor that does not post what people write. One process at a time polls an account, under a lease in the
 * database. The cursor is written after what was read is durable: a message may be read twice, and counts once.
 */
import { performance } from 'node:perf_hooks'
import { newToken } from '../../../../src/core/ids.ts'
import type { Db } from '../../../../src/store/db.ts'
import { type Account, advanceReader, releaseReader, takeReader } from './reader-rows.ts'

export interface Reading {
  /** The last reader's position; null for the first. */
  readonly cursor: string | null
  /** Aborted when the lease is lost or the process stops. */
  readonly signal: AbortSignal
  /** Stores the cursor: everything before it is durable. */
  advance(cursor: string): Promise<void>
  /** The vendor asked for a pause. */
  pause(ms: number): void
}

export interface ReaderOptions {
  readonly account: Account
  readonly db: Db
  readonly leaseMs: number
  /** Reads once and returns how many updates there were. An error is logged and retried. */
  readonly read: (reading: Reading) => Promise<number>
  readonly trouble: (error: unknown) => void
}

const IDLE = { did: 0, more: false, nextMs: null } as const

export class ChannelReader {
  readonly name: string
  readonly #options: ReaderOptions
  readonly #token = newToken()
  readonly #stopping = new AbortController()
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(options: ReaderOptions) {
    this.#options = options
    this.name = options.account.channel
  }

  async tick(): Promise<{ did: number; more: boolean; nextMs: null }> {
    const { db, account, leaseMs } = this.#options
    if (this.#stopping.signal.aborted || performance.now() < this.#notBeforeMs) return IDLE
    const taken = await takeReader(db, account, this.#token, leaseMs)
    if (taken === null) {
      this.#pause(leaseMs / 3)
      return IDLE
    }
    const did = await this.#read(taken.cursor)
    return did === 0 ? IDLE : { did, more: true, nextMs: null }
  }

  /** Aborts the current poll and starts no other. */
  halt(): void {
    this.#stopping.abort()
  }

  async close(): Promise<void> {
    this.halt()
    await releaseReader(this.#options.db, this.#options.account, this.#token)
  }

  #pause(ms: number): void {
    this.#notBeforeMs = performance.now() + ms
  }

  /** Renews the lease during a long poll; a lost lease aborts it. */
  async #read(cursor: string | null): Promise<number> {
    const { db, account, leaseMs, read, trouble } = this.#options
    const lost = new AbortController()
    const keep = () =>
      takeReader(db, account, this.#token, leaseMs)
        .then((held) => {
          if (held === null) lost.abort()
        })
        .catch(trouble)
    const timer = setInterval(keep, leaseMs / 3)
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal])
    try {
      return await read({
        cursor,
        signal,
        advance: async (next) => {
          if (!(await advanceReader(db, account, this.#token, next))) lost.abort()
        },
        pause: (ms) => this.#pause(ms),
      })
    } catch (error) {
      if (signal.aborted) return 0
      throw error
    } finally {
      clearInterval(timer)
    }
  }
}
