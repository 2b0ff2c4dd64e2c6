/** What a turn's commit writes into the metadata of the checkpoint it ends in, beside the agent's own, and how it is read back. */
import { z } from 'zod'
import type { Counters } from './gate.ts'

/** Goes up when older readers would misread what is written. */
export const METADATA_VERSION = 1

const shape = z.object({
  metadata_version: z.literal(METADATA_VERSION).default(METADATA_VERSION),
  event_seq: z.int().min(1),
  consecutive_autonomous_msgs: z.int().min(0),
  last_autonomous_at: z.iso.datetime().nullable(),
})

/** The session as it was after the turn. */
export type SessionMetadata = z.output<typeof shape>

export function sessionMetadata(eventSeq: number, counters: Counters): SessionMetadata {
  return {
    metadata_version: METADATA_VERSION,
    event_seq: eventSeq,
    consecutive_autonomous_msgs: counters.consecutive,
    last_autonomous_at: counters.lastAt?.toISOString() ?? null,
  }
}

/**
 * The session's part of a checkpoint's metadata; null where no turn ended there: points within a run, and threads outside of
 * sessions. Throws for what is broken, and for what a newer version has written.
 */
export function readSessionMetadata(metadata: object): SessionMetadata | null {
  if (!('consecutive_autonomous_msgs' in metadata)) return null
  const read = shape.safeParse(metadata)
  if (read.success) return read.data
  const wrong = read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new Error(`this checkpoint's metadata is not what we write: ${wrong.join('; ')}`)
}
