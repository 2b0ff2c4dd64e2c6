/** How an effect leaves. A channel that holds connections asks for what its sessions have not heard yet. */

import type { SessionRef } from '../core/sessions/session.ts'
import type { Db } from '../store/db/db.ts'
import type { Receipt, Undelivered, Wanted } from '../store/sessions/effects.ts'
import type { EventRow } from '../store/sessions/events.ts'

export interface Channel {
  readonly name: string
  /** Sessions with somebody listening, and from which position each wants to hear on; of `keys`, or all. */
  wanted(keys: readonly string[] | null): Wanted[]
  /** Hands over what was found; answers what was attempted. */
  offer(rows: readonly Undelivered[]): Receipt[]
  /** The same for those who watch the log itself: `after` is a seq. */
  watched(keys: readonly string[] | null): Wanted[]
  show(rows: readonly (EventRow & { bucket: number })[]): void
}

/** A message on its way to a device that nobody holds open. */
export interface Push {
  readonly content: string
  readonly sessionKey: string
  /** Whom to reach: what follows the channel's name in the session's `pushed_to`. */
  readonly address: string
  /** Long messages go out in parts; these have. */
  readonly partsSent: number
  /** From 1. */
  readonly attempt: number
}

export type PushOutcome =
  | { readonly type: 'sent' }
  | {
      readonly type: 'later'
      readonly waitMs: number
      readonly error: string
      readonly partsSent: number
    }
  /** This one will never go; it stays for the sockets. */
  | { readonly type: 'dropped'; readonly error: string }
  /** Nobody is there any more: the link ends. */
  | { readonly type: 'gone'; readonly error: string }

/** How a message leaves without a connection of its own, from sessions that `startPushing` sends to it. */
export interface PushChannel {
  readonly name: string
  /** Never throws. */
  send(push: Push, signal: AbortSignal): Promise<PushOutcome>
  /** Where the channel keeps its own record of whom it reaches, it ends with the link, in the same transaction. */
  unlink?(tx: Db, session: SessionRef, address: string): Promise<void>
}
