/**
 * A WebSocket on which a vendor sends what people write. One process at a time holds the connection of an account, under a lease in
 * the database. Frames are handled in order, and the cursor is written only after they are durable.
 */
import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'
import { callError } from '../../../../src/core/calls/address.ts'
import { newToken } from '../../../../src/core/ids.ts'
import { jsonOf } from '../../../../src/kernel/channel.ts'
import type { Db } from '../../../../src/store/db.ts'
import { type Account, advanceReader, releaseReader, takeReader } from './reader-rows.ts'

export interface Connection {
  send(frame: object): void
  /** Stores the cursor: everything before it is durable. */
  advance(cursor: string | null): Promise<void>
  /** Disconnects; the next connection is made after `afterMs`. */
  end(afterMs?: number): void
}

export interface FrameHandler {
  readonly url: string
  /** Resolves when the frame is durable. An error disconnects, and the vendor resends the frame on the next connection. */
  take(frame: unknown, connection: Connection): Promise<void>
  closed?(): void
}

export interface ConnectionOptions {
  readonly account: Account
  readonly db: Db
  readonly leaseMs: number
  /** Prepares a connection that resumes at the cursor. */
  readonly prepare: (cursor: string | null) => Promise<FrameHandler>
  readonly trouble: (error: unknown) => void
}

interface Current {
  readonly socket: WebSocket
  /** The frame being handled. */
  last: Promise<void>
  /** `end` was called, which has set the next attempt. */
  over: boolean
}

const IDLE = { did: 0, more: false, nextMs: null } as const
const FRAME_BYTES_MAX = 1024 * 1024
const AGAIN_MS = 5_000

export class ChannelConnection {
  readonly name: string
  /** Called when the connection has ended. */
  onFree: () => void = () => undefined
  readonly #options: ConnectionOptions
  readonly #token = newToken()
  #current: Current | null = null
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #stopped = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.name = options.account.channel
  }

  /** How often a tick renews the lease. */
  get pollMs(): number {
    return this.#options.leaseMs / 3
  }

  async tick(): Promise<{ did: number; more: boolean; nextMs: null }> {
    const { db, account, leaseMs } = this.#options
    if (this.#stopped) return IDLE
    const taken = await takeReader(db, account, this.#token, leaseMs)
    if (taken === null) this.#current?.socket.terminate()
    else if (this.#current === null && performance.now() >= this.#notBeforeMs)
      await this.#connect(taken.cursor)
    return IDLE
  }

  halt(): void {
    this.#stopped = true
    this.#current?.socket.terminate()
  }

  async close(): Promise<void> {
    this.halt()
    await this.#current?.last
    await releaseReader(this.#options.db, this.#options.account, this.#token)
  }

  async #connect(cursor: string | null): Promise<void> {
    const { prepare, trouble } = this.#options
    try {
      const handler = await prepare(cursor)
      this.#listen(handler, new WebSocket(handler.url, { maxPayload: FRAME_BYTES_MAX }))
    } catch (error) {
      this.#wait(AGAIN_MS)
      trouble(new Error(callError(error)))
    }
  }

  #listen(handler: FrameHandler, socket: WebSocket): void {
    const { trouble } = this.#options
    const current: Current = { socket, last: Promise.resolve(), over: false }
    this.#current = current
    const connection = this.#connectionOf(current)
    const take = async (text: string) => {
      if (socket.readyState !== WebSocket.OPEN) return
      try {
        await handler.take(jsonOf(text), connection)
      } catch (error) {
        trouble(error)
        connection.end(AGAIN_MS)
      }
    }
    socket.on('message', (data) => {
      current.last = current.last.then(() => take(String(data)))
    })
    socket.on('error', (error) => trouble(new Error(callError(error))))
    socket.on('close', () => {
      this.#current = null
      if (!current.over) this.#wait(AGAIN_MS)
      handler.closed?.()
      if (!this.#stopped) this.onFree()
    })
  }

  #connectionOf(current: Current): Connection {
    const { db, account } = this.#options
    const { socket } = current
    return {
      send: (frame) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
      },
      advance: async (cursor) => {
        if (!(await advanceReader(db, account, this.#token, cursor))) socket.terminate()
      },
      end: (afterMs = 0) => {
        current.over = true
        this.#wait(afterMs)
        socket.terminate()
      },
    }
  }

  #wait(ms: number): void {
    this.#notBeforeMs = performance.now() + ms
  }
}
