/** Messages and events as a session's sockets get them. */
import { RawJson, writeJson } from '../../packages/exact-json/src/index.ts'
import type { Undelivered } from '../features/sessions/effect-rows.ts'
import type { EventRow } from '../features/sessions/event-rows.ts'

/** The part of a socket that matters here; `ws` fits. */
export interface Wire {
  readonly bufferedAmount: number
  readonly readyState: number
  send(text: string, done?: (error?: Error | null) => void): void
  /** Where a transport names its messages. */
  sendMessage?(id: string, text: string, done?: (error?: Error | null) => void): void
  close(code: number, reason: string): void
  /** What is sent until `uncork` leaves together. */
  cork?(): void
  uncork?(): void
}

export function sendMessage(
  wire: Wire,
  id: string,
  text: string,
  done?: (error?: Error | null) => void,
): void {
  if (wire.sendMessage === undefined) wire.send(text, done)
  else wire.sendMessage(id, text, done)
}

export function eventFrame({
  bucket: _,
  ...event
}: EventRow & { readonly bucket: number }): string {
  return writeJson({ type: 'event', event: { ...event, payload: new RawJson(event.payload) } })
}

export function messageFrame({
  id,
  payload,
  reason,
  origin: from,
  event_seq,
  created_at,
}: Undelivered): string {
  const { content, question } = JSON.parse(payload) as { content: string; question?: unknown }
  const said = { id, content, question }
  if (reason === 'answer')
    return JSON.stringify({ type: 'message', ...said, in_reply_to: event_seq, created_at })
  const origin: unknown = from === null ? null : JSON.parse(from)
  return JSON.stringify({ type: 'agent_follow_up', ...said, origin, created_at })
}
