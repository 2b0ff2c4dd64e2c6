/**
 * A promise that is made from outside a turn, as the event of its session that stands for it. A tool's result that somebody
 * posts has no field `promise`, so the mark is to be trusted. Pure.
 */
import {
  type RawJson,
  readJson,
  readLevel,
  writeJson,
} from '../../../packages/exact-json/src/index.ts'
import type { EventType } from '../../core/session.ts'

const MARK = '{"tool_id":"promise","promise":{'
const OPAQUE: ReadonlySet<string> = new Set(['payload'])

/** What is said, and the fields of its alarm, whose id is known already. */
export interface MadePromise extends Readonly<Record<string, unknown>> {
  readonly id: string
  readonly content: string
}

/** The alarm's own payload stays the text it was posted in. */
export function promisePayload(promise: MadePromise): string {
  return writeJson({ tool_id: 'promise', promise })
}

export function promiseIn(event: {
  readonly type: EventType
  readonly payload: string
}): MadePromise | null {
  if (event.type !== 'tool_result' || !event.payload.startsWith(MARK)) return null
  const { promise } = readLevel(event.payload) as { promise: RawJson }
  return readJson(promise.text, OPAQUE) as MadePromise
}
