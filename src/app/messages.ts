/** Messages for listeners in this process: `app.on('message', …)`. */
import { bucketOf } from '../core/session.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { EffectRow } from '../features/sessions/turn.ts'
import type { WebSocketChannel } from '../kernel/websocket.ts'

/** A message that a turn has committed. */
export interface Message {
  readonly id: string
  readonly sessionKey: string
  readonly userId: string
  readonly agentId: string
  readonly threadId: string
  readonly content: string
  readonly reason: EffectRow['reason']
  /** The `seq` of the event that its turn was over. */
  readonly eventSeq: number
}

/** `ack` marks the message as delivered: sockets and push channels no longer get it. False: it was unknown. */
export type MessageListener = (message: Message, delivery: { ack(): Promise<boolean> }) => unknown

export class Messages {
  readonly #listeners = new Set<MessageListener>()
  readonly #sockets: () => WebSocketChannel
  readonly #onError: (error: unknown) => void

  constructor(sockets: () => WebSocketChannel, onError: (error: unknown) => void) {
    this.#sockets = sockets
    this.#onError = onError
  }

  /** Answers with a function that removes the listener. */
  on(listener: MessageListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  emit(claim: ClaimedTurn, effects: readonly EffectRow[]): void {
    if (this.#listeners.size === 0) return
    const { session_key: sessionKey, user_id: userId, agent_id, thread_id, seq } = claim
    const session = { key: sessionKey, bucket: bucketOf(userId), userId }
    for (const { id, payload, reason } of effects) {
      const { content } = JSON.parse(payload) as { content: string }
      const message: Message = {
        id,
        sessionKey,
        userId,
        agentId: agent_id,
        threadId: thread_id,
        content,
        reason,
        eventSeq: seq,
      }
      const ack = () =>
        this.#sockets().acknowledge({ ...session, agentId: agent_id, threadId: thread_id }, id)
      for (const listener of this.#listeners)
        new Promise((done) => done(listener(message, { ack }))).catch(this.#onError)
    }
  }
}
