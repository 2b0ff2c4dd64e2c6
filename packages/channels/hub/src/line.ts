/**
 * A connection on which a vendor tells what people write. One process at a time holds the line of an account, under a lease in
 * the database; frames are taken one after the other, and where it is gets written only after they are durable.
 */
import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'
import { callError } from '../../../../src/core/calls/address.ts'
import { newToken } from '../../../../src/core/ids.ts'
import { jsonOf } from '../../../../src/features/channels/request.ts'
import type { Db } from '../../../../src/store/db.ts'
import { type Account, advanceReader, releaseReader, takeReader } from './reader-rows.ts'

export interface Wire {
  send(frame: object): void
  /** Everything up to here is durable. */
  advance(cursor: string | null): Promise<void>
  /** A new line is laid, after a while. */
  end(afterMs?: number): void
}

export interface Line {
  readonly url: string
  /** Kept when what it says is durable. What is thrown ends the line, and the vendor tells it again on the next. */
  take(frame: unknown, wire: Wire): Promise<void>
  ended?(): void
}

export interface LineOptions {
  readonly account: Account
  readonly db: Db
  readonly leaseMs: number
  /** The address at which a later connection resumes from the cursor. */
  readonly dial: (cursor: string | null) => Promise<Line>
  readonly trouble: (error: unknown) => void
}

interface Held {
  readonly socket: WebSocket
  /** What is being taken. */
  last: Promise<void>
  /** We have ended it ourselves, and said when to go on. */
  over: boolean
}

const IDLE = { did: 0, more: false, nextMs: null } as const
const FRAME_BYTES_MAX = 1024 * 1024
const AGAIN_MS = 5_000

export class ChannelLine {
  readonly name: string
  /** Called when the line has ended: another may be laid. */
  onFree: () => void = () => undefined
  readonly #options: LineOptions
  readonly #token = newToken()
  #held: Held | null = null
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(options: LineOptions) {
    this.#options = options
    this.name = options.account.channel
  }

  /** How often a tick keeps the lease. */
  get pollMs(): number {
    return this.#options.leaseMs / 3
  }

  async tick(): Promise<{ did: number; more: boolean; nextMs: null }> {
    const { db, account, leaseMs } = this.#options
    if (this.#stopped) return IDLE
    const taken = await takeReader(db, account, this.#token, leaseMs)
    if (taken === null) this.#held?.socket.terminate()
    else if (this.#held === null && performance.now() >= this.#notBeforeMs)
      await this.#lay(taken.cursor)
    return IDLE
  }

  halt(): void {
    this.#stopped = true
    this.#held?.socket.terminate()
  }

  async close(): Promise<void> {
    this.halt()
    await this.#held?.last
    await releaseReader(this.#options.db, this.#options.account, this.#token)
  }

  async #lay(cursor: string | null): Promise<void> {
    const { dial, trouble } = this.#options
    try {
      const line = await dial(cursor)
      this.#listen(line, new WebSocket(line.url, { maxPayload: FRAME_BYTES_MAX }))
    } catch (error) {
      this.#wait(AGAIN_MS)
      trouble(new Error(callError(error)))
    }
  }

  #listen(line: Line, socket: WebSocket): void {
    const { trouble } = this.#options
    const held: Held = { socket, last: Promise.resolve(), over: false }
    this.#held = held
    const wire = this.#wireOf(held)
    const take = async (text: string) => {
      if (socket.readyState !== WebSocket.OPEN) return
      try {
        await line.take(jsonOf(text), wire)
      } catch (error) {
        trouble(error)
        wire.end(AGAIN_MS)
      }
    }
    socket.on('message', (data) => {
      held.last = held.last.then(() => take(String(data)))
    })
    socket.on('error', (error) => trouble(new Error(callError(error))))
    socket.on('close', () => {
      this.#held = null
      if (!held.over) this.#wait(AGAIN_MS)
      line.ended?.()
      if (!this.#stopped) this.onFree()
    })
  }

  #wireOf(held: Held): Wire {
    const { db, account } = this.#options
    const { socket } = held
    return {
      send: (frame) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
      },
      advance: async (cursor) => {
        if (!(await advanceReader(db, account, this.#token, cursor))) socket.terminate()
      },
      end: (afterMs = 0) => {
        held.over = true
        this.#wait(afterMs)
        socket.terminate()
      },
    }
  }

  #wait(ms: number): void {
    this.#notBeforeMs = performance.now() + ms
  }
}
