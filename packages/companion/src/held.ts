/** Lists the user's alarms, intents or work with ids, for a model, and finds one by its id. */
import * as commands from '../../../src/agents/commands.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { OwnAlarm, OwnIntent, OwnOutput, OwnWork } from '../../../src/agents/reads.ts'
import { Refusal } from '../../../src/core/errors.ts'
import { formatLocal } from '../../schedule/src/index.ts'
import { placeOf } from './act.ts'
import { instantText, quoted } from './replies.ts'

const CONTENT_MAX = 4_000
const OUTPUTS = 3

export type Held = 'alarm' | 'intent' | 'work'

interface Row {
  readonly id: string
  readonly text: string
}

export async function heldRows(turn: Turn, kind: Held): Promise<Row[]> {
  const at = (instant: Date | null) => (instant === null ? '' : instantText(instant, placeOf(turn)))
  const told = <T extends { id: string }>(rows: readonly T[], say: (row: T) => string) =>
    rows.map((row) => ({ id: row.id, text: say(row) }))
  if (kind === 'alarm')
    return told(await commands.listAlarms(turn), (row) => alarmText(row, at(row.next_fire_at)))
  if (kind === 'intent')
    return told(await commands.listIntents(turn), (row) => intentText(row, at(row.next_check)))
  return told(await commands.listWork(turn), (row) => workText(row, at(row.next_run_at)))
}

export async function heldRow(turn: Turn, kind: Held, id: unknown): Promise<Row> {
  const found = (await heldRows(turn, kind)).find((row) => row.id === id)
  if (found === undefined) throw noSuch(kind)
  return found
}

export function noSuch(kind: Held): Refusal {
  return new Refusal('not_found', `there is no such ${kind}; take an id of the list`)
}

function alarmText({ label, wake_message, status, description }: OwnAlarm, at: string): string {
  const name = quoted(label === '' ? wake_message : label)
  const rhythm = description === null ? '' : `${description}, `
  return `${name}: ${status === 'active' ? `${rhythm}next ${at}` : status}`
}

function intentText(row: OwnIntent, at: string): string {
  const next = at === '' ? '' : `, next looked at ${at}`
  const state = row.enabled ? `on${next}` : 'switched off'
  return `${quoted(row.intent_name)} (${row.trigger_type}): ${row.description}; ${state}; fired ${row.execution_count} times; says ${quoted(row.action_context)}`
}

function workText(row: OwnWork, at: string): string {
  const state = row.is_active
    ? `next ${at}`
    : row.frequency === 'once'
      ? 'no further run'
      : 'paused'
  return `${quoted(row.task)} (${row.agent_type}): ${row.description}; ${state}`
}

export function outputsText(outputs: readonly OwnOutput[], turn: Turn): string {
  if (outputs.length === 0) return 'It has not run yet.'
  return outputs
    .slice(0, OUTPUTS)
    .map((output) => outputText(output, placeOf(turn).timezone))
    .join('\n\n')
}

function outputText(output: OwnOutput, timezone: string): string {
  const { run_number, status, title, content, error_message, progress_note } = output
  const at = output.completed_at ?? output.scheduled_for
  const head = `Run ${run_number}, ${formatLocal(Math.floor(at.getTime() / 1000) * 1000, timezone)}`
  if (status === 'failed') return `${head} failed: ${(error_message ?? '').slice(0, 500)}`
  if (status !== 'completed')
    return `${head} is ${status}${progress_note === null ? '' : `: ${progress_note}`}.`
  const text = content ?? ''
  const cut =
    text.length > CONTENT_MAX
      ? `${text.slice(0, CONTENT_MAX).replace(/\p{Surrogate}$/u, '')}…`
      : text
  return `${head}: ${title ?? ''}\n${cut}`.trimEnd()
}
