/** What `updateWork` and `updateIntent` take: checked against the row as it is when they are asked, and again by the commit. */
import { z } from 'zod'
import { Refusal } from '../core/errors.ts'
import { changeIntent } from '../features/intents/change.ts'
import { intentWish } from '../features/intents/draft.ts'
import { intentFields } from '../features/intents/fields.ts'
import type { IntentRow } from '../features/intents/rows.ts'
import { workFields } from '../features/work/fields.ts'
import type { WorkRow } from '../features/work/rows.ts'
import { changeWork } from '../features/work/rules.ts'
import { type DeepReadonly, readAsked } from './asked.ts'

const { task } = workFields
const workShape = z.strictObject({
  is_active: z.boolean().optional(),
  frequency: workFields.frequency.unwrap().optional(),
  timezone: workFields.timezone.unwrap().optional(),
  task: task.optional(),
})

/** What is left out stays as it is. */
export interface WorkChangeRequest extends DeepReadonly<z.input<typeof workShape>> {}
export type AskedWorkChange = z.output<typeof workShape>

/** Throws a `Refusal` with all that is wrong. */
export function workChange(request: WorkChangeRequest, row: WorkRow): AskedWorkChange {
  const asked = readAsked(workShape, { ...request })
  const errors: string[] = []
  changeWork(row, asked, row.now, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return asked
}

const { agent_id: _agent, thread_id: _thread, metadata: _metadata, ...changeable } = intentFields
const intentShape = z.strictObject(changeable).partial()

/** What is left out stays as it is; null empties what may be empty. */
export interface IntentChangeRequest extends DeepReadonly<z.input<typeof intentShape>> {}
export type AskedIntentChange = z.output<typeof intentShape>

/** Throws a `Refusal` with all that is wrong. */
export function intentChange(
  request: IntentChangeRequest,
  row: IntentRow,
): { asked: AskedIntentChange; enabling: boolean } {
  const asked = readAsked(intentShape, { ...request })
  const errors: string[] = []
  const { enabling } = changeIntent(row, intentWish(asked, row), row.now, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  return { asked, enabling }
}
