/** What is told of a message when it is known what became of an attempt at it. */
import type { Reason } from '../features/sessions/reason.ts'
import type { DeliveryRecord } from './meter.ts'

interface Message {
  readonly id: string
  readonly session_key: string
  readonly event_seq: number
  readonly reason: Reason
  /** JSON text. */
  readonly origin: string | null
  readonly checkpoint_id?: string
  readonly traceparent?: string | null
}

type Result = Pick<DeliveryRecord, 'channel' | 'result' | 'durationMs' | 'error'>
type More = Partial<Pick<DeliveryRecord, 'attempt' | 'traceparent'>>

export function deliveryOf(message: Message, result: Result, more: More = {}): DeliveryRecord {
  const { id, session_key, event_seq, reason, checkpoint_id, traceparent, origin } = message
  const from = origin === null ? null : (JSON.parse(origin) as { kind: string; id?: string })
  return {
    ...{ id, reason, sessionKey: session_key, eventSeq: event_seq },
    ...{ checkpointId: checkpoint_id ?? null, traceparent: traceparent ?? null },
    trigger: from?.kind ?? 'user_message',
    triggerId: from?.id ?? null,
    slot: null,
    attempt: null,
    ...result,
    ...more,
  }
}
