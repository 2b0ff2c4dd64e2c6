/** The shapes of intents: what is taken, and what is shown. Names are those that workers outside rely on. */

import { z } from 'zod'
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { schemaOf, visibleOf } from '../../core/columns.ts'
import { keyPart, shortName } from '../../core/fields.ts'
import { quoted, sentences, timesText } from '../../core/words.ts'
import { INTENT, intentFields, newIntentFields } from './fields.ts'
import type { ExecutionRow } from './report-rows.ts'
import type { IntentRow } from './rows.ts'
import { EXECUTION_STATUSES, nextChecks, scheduleWords, TRIGGER_TYPES, termsOf } from './rules.ts'

export const createBody = z.object({
  user_id: keyPart.nullish().describe('Whose it is; required of admin and service keys.'),
  ...newIntentFields,
  created_by: shortName.nullish().describe('Taken from admin and service keys.'),
})

export const updateBody = z.object(intentFields).partial()

export type UpdateBody = z.output<typeof updateBody>

const at = z.iso.datetime().nullable()
const opaque = z.unknown().describe('As it was given.')

export const intentView = schemaOf(INTENT).extend({
  schedule_description: z.string(),
  next_checks: z.array(z.iso.datetime()).optional(),
  words: z.string(),
  checks: z.int().optional(),
  calls_avoided: z.int().optional(),
})

/** Every field that workers know is there, null where it is empty. */
export function viewOf(row: IntentRow, done?: string) {
  const terms = termsOf(row)
  const next = row.enabled ? (nextChecks(terms, row.now) ?? undefined) : undefined
  return {
    ...visibleOf(INTENT, row),
    schedule_description: scheduleWords(terms),
    next_checks: next,
    words: wordsOf(row, next ?? [], done),
    ...(row.agent_id === null ? {} : { checks: row.checks, calls_avoided: row.calls_avoided }),
  }
}

/** `done` is what was done to it just now: "was created and". */
function wordsOf(row: IntentRow, next: readonly Date[], done = ''): string {
  const what = scheduleWords(termsOf(row)) || row.trigger_type
  const checks = next.length > 0 || row.next_check === null ? next : [row.next_check]
  const times = row.enabled ? timesText(checks, row.timezone, row.now) : ''
  return sentences(
    `Intent ${quoted(row.intent_name)}`,
    done,
    `is ${row.enabled ? 'on' : 'switched off'}: ${what}.`,
    times !== '' && `Next check: ${times}.`,
    row.agent_id === null && 'It names no agent_id, so a worker outside has to fetch and run it.',
    `Its id is ${row.id}.`,
  )
}

const raw = (json: string | null) => (json === null ? null : new RawJson(json))

export const executionView = z.object({
  id: z.uuid(),
  intent_id: z.uuid(),
  user_id: z.string(),
  executed_at: z.iso.datetime(),
  trigger_type: z.enum(TRIGGER_TYPES),
  trigger_data: opaque,
  status: z.enum(EXECUTION_STATUSES),
  gate_result: opaque,
  message_id: z.string().nullable(),
  message_preview: z.string().nullable(),
  evaluation_ms: z.int().nullable(),
  generation_ms: z.int().nullable(),
  delivery_ms: z.int().nullable(),
  error_message: z.string().nullable(),
  scheduled_for: at,
  session_key: z.string().nullable(),
  event_seq: z.int().nullable(),
  repeats: z.int().describe('How many checks in a row came to just this.'),
  last_seen_at: at,
})

export function executionOf(row: ExecutionRow) {
  const { claim_token: _, ...shown } = row
  return { ...shown, trigger_data: raw(row.trigger_data), gate_result: raw(row.gate_result) }
}
