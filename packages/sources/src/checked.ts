/** The sources of a process, from options and packages, checked before the first poll. */
import { callRefusal } from '../../../src/core/calls/address.ts'
import { POLL_MIN_MS } from '../../../src/features/intents/polling.ts'
import type { Source } from '../../../src/features/intents/source.ts'

const KEY_MAX = 256

/** Throws a `TypeError` that says which source is wrong. One set up twice is asked once. */
export function checkedSources(all: readonly Source[], allowPrivate: boolean): Source[] {
  for (const source of all) checkSource(source, allowPrivate)
  return [...new Map(all.map((source) => [source.key, source])).values()]
}

function checkSource(source: Source, allowPrivate: boolean): void {
  const { key, kind, everyMs, poll, address } = (source ?? {}) as Partial<Source>
  const named = typeof key === 'string' && key !== '' && key.length <= KEY_MAX
  if (!named || typeof kind !== 'string' || typeof poll !== 'function')
    throw new TypeError(
      'sources takes a list of feedSource(…), calendarSource(…), priceSource(…) or { key, kind, everyMs, poll }',
    )
  if (typeof everyMs !== 'number' || !(everyMs >= POLL_MIN_MS))
    throw new TypeError(`source ${key}: everyMs takes at least ${POLL_MIN_MS}`)
  const refusal = address === undefined ? null : callRefusal(address, allowPrivate)
  if (refusal !== null)
    throw new TypeError(
      `source ${key}: ${refusal}; takes a public address, or any with WAKEFUL_ALLOW_PRIVATE_WEBHOOKS=true`,
    )
}
