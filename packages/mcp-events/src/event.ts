/** Converts an event of another server to a signal. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { storableText } from '../../../src/core/text.ts'
import {
  BODY_MAX_BYTES,
  eventSignal,
  NAME_MAX,
  type NewSignal,
} from '../../../src/features/intents/signal.ts'

export const eventShape = z.looseObject({
  eventId: z.string().min(1).max(512),
  name: z.string().min(1),
  timestamp: z.iso.datetime({ offset: true }),
  data: z.record(z.string(), z.unknown()),
  cursor: z.string().nullish(),
})
export type McpEvent = z.output<typeof eventShape>

/**
 * Deduplicated by its id within the subscription. Its time is when we received it, since conditions use new signals; the event's own time
 * is part of its text.
 */
export function signalOf(
  source: string,
  event: McpEvent,
  now: Date,
  userId: string | null,
): NewSignal {
  const said = JSON.stringify({ ...event.data, at: event.timestamp })
  const text = cut(said, BODY_MAX_BYTES)
  const signal = eventSignal({ name: storableText(event.name, NAME_MAX), text }, now, userId)
  const fact = createHash('sha256').update(`${source}\n${event.eventId}`).digest('base64url')
  return { ...signal, fact }
}

/** Cuts to a number of bytes, without a partial character at the end. */
function cut(text: string, maxBytes: number): string {
  const whole = storableText(text, text.length)
  const bytes = Buffer.from(whole)
  return bytes.length <= maxBytes
    ? whole
    : bytes
        .subarray(0, maxBytes)
        .toString('utf8')
        .replace(/\ufffd+$/, '')
}
