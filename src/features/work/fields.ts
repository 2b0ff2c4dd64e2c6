/** The fields of work that requests and turns may set, and the columns of work and its outputs. */
import { z } from 'zod'
import { CATCH_UPS } from '../../../packages/schedule/src/catch-up.ts'
import { internal, oneOf, visible, visibleIfSet } from '../../core/columns.ts'
import {
  catchUpFields,
  opaqueJson,
  personTimezone,
  sessionKey,
  shortName,
  words,
} from '../../core/fields.ts'
import { hasUnstorableText } from '../../core/text.ts'
import { OUTPUT_STATUSES } from './rules.ts'

const TASK_MAX_BYTES = 8 * 1024
const PROJECT_ID_MAX = 64

export const workFields = {
  task: words(TASK_MAX_BYTES).describe('What to do, in words.'),
  agent_type: shortName.describe('Which executor does it.'),
  frequency: z
    .string()
    .describe('"once", a phrase such as "daily at 9am", or cron: as the preview takes it.')
    .default('once'),
  timezone: personTimezone,
  run_first: z.boolean().default(true).describe('Recurring work also runs at once.'),
  project_id: z
    .string()
    .min(1)
    .max(PROJECT_ID_MAX)
    .refine((text) => !hasUnstorableText(text), 'must not hold a NUL or half of a surrogate pair')
    .optional()
    .describe('Of which project.'),
  parameters: opaqueJson
    .refine((raw) => raw.text.trimStart().startsWith('{'), 'must be an object')
    .describe('For the executor, verbatim. `notify_session`: a session told when a run completes.')
    .optional(),
  ...catchUpFields,
  notify: z
    .boolean()
    .default(true)
    .describe('Runs are told to the conversation it was made in, or to notify_session.'),
  notify_session: sessionKey.optional().describe('The session that is told when a run ends.'),
}

export type WorkFields = z.output<z.ZodObject<typeof workFields>> & { timezone: string }

export const WORK = {
  bucket: internal('smallint'),
  id: visible('uuid'),
  task: visible('text'),
  agent_type: visible('text'),
  agent_id: internal('text?'),
  parameters: visible('json'),
  project_id: visible('text?'),
  user_id: visible('text'),
  frequency: visible('text'),
  frequency_cron: visible('text?'),
  timezone: visible('text'),
  anchor_at: internal('timestamptz'),
  is_active: visible('boolean'),
  next_run_at: visible('timestamptz?'),
  last_run_at: visible('timestamptz?'),
  scheduled_for: internal('timestamptz?'),
  catch_up: oneOf(CATCH_UPS),
  catch_up_within_seconds: visible('int?'),
  notify: visible('boolean'),
  notify_session: visible('text?'),
  name: internal('text'),
  follows_zone: visibleIfSet('boolean'),
  fired_local: internal('text?'),
  paused_at: internal('timestamptz?'),
  traceparent: internal('text?'),
  lineage: internal('text?'),
  created_at: visible('timestamptz'),
  updated_at: visible('timestamptz'),
}

export const OUTPUT = {
  id: visible('uuid'),
  work_id: visible('uuid'),
  user_id: visible('text'),
  run_number: visible('int'),
  status: oneOf(OUTPUT_STATUSES),
  title: visible('text?'),
  content: visible('text?'),
  output_type: oneOf(['text', 'file']),
  metadata: visible('json'),
  file_url: visible('text?'),
  file_format: visible('text?'),
  file_name: visible('text?'),
  file_bytes: visible('int?'),
  progress: visible('float8?'),
  progress_note: visible('text?'),
  scheduled_for: visible('timestamptz'),
  missed_count: visible('int'),
  attempt: visible('int'),
  started_at: visible('timestamptz?'),
  completed_at: visible('timestamptz?'),
  error_message: visible('text?'),
  created_at: visible('timestamptz'),
}
