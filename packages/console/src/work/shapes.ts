/** Work and what its runs produced, as the server shows them. */
import type { Tone } from '../parts/tone.ts'

export interface Work {
  readonly id: string
}

export interface Output {
  readonly id: string
  readonly work_id: string
  readonly run_number: number
  readonly status: 'pending' | 'running' | 'completed' | 'failed'
  readonly title: string | null
  readonly content: string | null
  readonly output_type: 'text' | 'file'
  readonly file_url: string | null
  readonly file_format: string | null
  readonly file_name: string | null
  readonly file_bytes: number | null
  readonly progress: number | null
  readonly progress_note: string | null
  readonly scheduled_for: string
  readonly missed_count: number
  readonly attempt: number
  readonly started_at: string | null
  readonly completed_at: string | null
  readonly error_message: string | null
  readonly created_at: string
}

export const OUTPUT_TONES: Readonly<Record<Output['status'], Tone>> = {
  pending: 'plain',
  running: 'own',
  completed: 'good',
  failed: 'bad',
}

export function isLive({ status }: Output): boolean {
  return status === 'pending' || status === 'running'
}

/** "4.2 kB" */
export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
