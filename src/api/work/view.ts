/** How work and its outputs look from outside. */
import { z } from 'zod'
import { RawJson } from '../../core/json/json.ts'
import { frequencyWords, nextRuns, OUTPUT_STATUSES } from '../../core/work/work.ts'
import type { OutputRow, WorkRow } from '../../store/work/work.ts'

const instant = z.iso.datetime()

export const workSchema = z.object({
  id: z.uuid(),
  task: z.string(),
  agent_type: z.string(),
  parameters: z.unknown(),
  project_id: z.string().nullable(),
  user_id: z.string(),
  frequency: z.string(),
  frequency_cron: z.string().nullable(),
  canonical: z.string(),
  description: z.string(),
  timezone: z.string(),
  is_active: z.boolean(),
  next_run_at: instant.nullable(),
  next_runs: z.array(instant),
  last_run_at: instant.nullable(),
  notes: z.array(z.string()).optional(),
  created_at: instant,
  updated_at: instant,
})

export function workView(row: WorkRow, notes: readonly string[] = []) {
  return {
    id: row.id,
    task: row.task,
    agent_type: row.agent_type,
    parameters: new RawJson(row.parameters),
    project_id: row.project_id,
    user_id: row.user_id,
    frequency: row.frequency,
    frequency_cron: row.frequency_cron,
    canonical: row.frequency_cron ?? 'once',
    description: frequencyWords(row),
    timezone: row.timezone,
    is_active: row.is_active,
    next_run_at: row.next_run_at,
    next_runs: nextRuns(row, row.now),
    last_run_at: row.last_run_at,
    notes: notes.length > 0 ? notes : undefined,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

export const outputSchema = z.object({
  id: z.uuid(),
  work_id: z.uuid(),
  user_id: z.string(),
  run_number: z.int(),
  status: z.enum(OUTPUT_STATUSES),
  title: z.string().nullable(),
  content: z.string().nullable(),
  output_type: z.enum(['text', 'file']),
  metadata: z.unknown(),
  file_url: z.string().nullable(),
  file_format: z.string().nullable(),
  file_name: z.string().nullable(),
  file_bytes: z.int().nullable(),
  progress: z.number().nullable(),
  progress_note: z.string().nullable(),
  scheduled_for: instant,
  missed_count: z.int(),
  attempt: z.int(),
  started_at: instant.nullable(),
  completed_at: instant.nullable(),
  error_message: z.string().nullable(),
  created_at: instant,
})

export function outputView(row: OutputRow) {
  return {
    id: row.id,
    work_id: row.work_id,
    user_id: row.user_id,
    run_number: row.run_number,
    status: row.status,
    title: row.title,
    content: row.content,
    output_type: row.output_type,
    metadata: new RawJson(row.metadata),
    file_url: row.file_url,
    file_format: row.file_format,
    file_name: row.file_name,
    file_bytes: row.file_bytes,
    progress: row.progress,
    progress_note: row.progress_note,
    scheduled_for: row.scheduled_for,
    missed_count: row.missed_count,
    attempt: row.attempt,
    started_at: row.started_at,
    completed_at: row.completed_at,
    error_message: row.error_message,
    created_at: row.created_at,
  }
}
