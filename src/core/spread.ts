/** `spread: "10 minutes"`: by how much later each person's schedule fires, the same every time. Pure. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parsePhrase, ScheduleError, type Spread } from '../../packages/schedule/src/index.ts'
import { SPREAD_MAX_MS } from '../../packages/schedule/src/parse.ts'

const PHRASE_MAX = 200
const SECOND_MS = 1_000
const FORM = 'write how long, from "1 second" to "24 hours", for example "10 minutes"'

export const spreadField = z
  .string()
  .min(1)
  .max(PHRASE_MAX)
  .describe(
    'For example "10 minutes": each time comes later by less than that, always the same for a person and a schedule.',
  )

/** Of what a person has under this name, or id where it has none. Throws a `ScheduleError`. */
export function spreadOf(text: string, userId: string, name: string): Spread {
  const withinMs = lengthOf(text)
  const hash = createHash('sha256')
    .update(JSON.stringify([userId, name]))
    .digest()
  const share = hash.readUIntBE(0, 6) / 2 ** 48
  return { withinMs, offsetMs: Math.floor((share * withinMs) / SECOND_MS) * SECOND_MS }
}

/** The same of a field that may be left out; what is wrong goes to `errors`. */
export function readSpread(
  text: string | undefined,
  userId: string,
  name: string,
  errors: string[],
): Spread | null {
  if (text === undefined) return null
  try {
    return spreadOf(text, userId, name)
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error
    errors.push(...error.errors.map((each) => `spread: ${each}`))
    return null
  }
}

/** In whole seconds. */
function lengthOf(text: string): number {
  const asked = `in ${text.trim().replace(/^in\s+/i, '')}`
  const { schedule } = parsePhrase(asked, { timezone: 'UTC', now: 0 })
  const ms = schedule.kind === 'once' ? (schedule.at ?? 0) : 0
  const whole = Math.floor(ms / SECOND_MS) * SECOND_MS
  if (whole < SECOND_MS || whole > SPREAD_MAX_MS) throw new ScheduleError(FORM)
  return whole
}
