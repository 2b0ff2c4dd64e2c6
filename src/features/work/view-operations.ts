/** How work and its outputs look from outside. */
import { z } from 'zod'
import { schemaOf, visibleOf } from '../../core/columns.ts'
import { OUTPUT, WORK } from './fields.ts'
import type { OutputRow, WorkRow } from './rows.ts'
import { frequencyWords, nextRuns } from './rules.ts'

export const workSchema = schemaOf(WORK).extend({
  canonical: z.string(),
  description: z.string(),
  next_runs: z.array(z.iso.datetime()),
  notes: z.array(z.string()).optional(),
})

export function workView(row: WorkRow, notes: readonly string[] = []) {
  return {
    ...visibleOf(WORK, row),
    canonical: row.frequency_cron ?? 'once',
    description: frequencyWords(row),
    next_runs: nextRuns(row, row.now),
    notes: notes.length > 0 ? notes : undefined,
  }
}

export const outputSchema = schemaOf(OUTPUT)

export function outputView(row: OutputRow) {
  return visibleOf(OUTPUT, row)
}
