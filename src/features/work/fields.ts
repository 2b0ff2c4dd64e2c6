/** The fields of work that requests and turns may set, and the columns of work and its outputs. */
import { z } from 'zod'
import { CATCH_UPS } from '../../../packages/schedule/src/catch-up.ts'
import { kept, shown, word } from '../../core/columns.ts'
import {
  catchUpFields,
  opaqueJson,
  sessionKey,
  shortName,
  timezone,
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
  timezone: timezone.optional().describe("An IANA name; the person's own by default."),
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
  bucket: kept('smallint'),
  id: shown('uuid'),
  task: shown('text'),
  agent_type: shown('text'),
  agent_id: kept('text?'),
  parameters: shown('json'),
  project_id: shown('text?'),
  user_id: shown('text'),
  frequency: shown('text'),
  frequency_cron: shown('text?'),
  timezone: shown('text'),
  anchor_at: kept('timestamptz'),
  is_active: shown('boolean'),
  next_run_at: shown('timestamptz?'),
  last_run_at: shown('timestamptz?'),
  scheduled_for: kept('timestamptz?'),
  catch_up: word(CATCH_UPS),
  catch_up_within_seconds: shown('int?'),
  notify: shown('boolean'),
  notify_session: shown('text?'),
  traceparent: kept('text?'),
  lineage: kept('text?'),
  created_at: shown('timestamptz'),
  updated_at: shown('timestamptz'),
}

export const OUTPUT = {
  id: shown('uuid'),
  work_id: shown('uuid'),
  user_id: shown('text'),
  run_number: shown('int'),
  status: word(OUTPUT_STATUSES),
  title: shown('text?'),
  content: shown('text?'),
  output_type: word(['text', 'file']),
  metadata: shown('json'),
  file_url: shown('text?'),
  file_format: shown('text?'),
  file_name: shown('text?'),
  file_bytes: shown('int?'),
  progress: shown('float8?'),
  progress_note: shown('text?'),
  scheduled_for: shown('timestamptz'),
  missed_count: shown('int'),
  attempt: shown('int'),
  started_at: shown('timestamptz?'),
  completed_at: shown('timestamptz?'),
  error_message: shown('text?'),
  created_at: shown('timestamptz'),
}
