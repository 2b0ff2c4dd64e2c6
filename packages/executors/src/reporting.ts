/** `reporting`: what the user's agents did, from the user's own records. Needs no model. */

import type { Executor, WorkRun } from '../../../src/agents/executor.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { type Happening, happenings } from '../../../src/features/ledger/occasion-rows.ts'
import { ledgerNow } from '../../../src/features/ledger/rows.ts'
import { judgeOccasion } from '../../../src/features/ledger/rules.ts'
import { aheadOf, type Standing } from '../../../src/features/ledger/upcoming.ts'
import { standing } from '../../../src/features/ledger/upcoming-rows.ts'
import type { Db } from '../../../src/store/db.ts'
import { dayBounds, localDay, zoneOf } from '../../schedule/src/zone.ts'
import { type Format, formatErrors, formatted } from './page.ts'
import { activityReport } from './report/activity.ts'
import { printHtml, printMarkdown } from './report/document.ts'
import { intentChecks, troubledAlarms, workRuns } from './report/figure-rows.ts'
import type { Fire } from './report/tally.ts'

const DAYS = 7
const DAYS_MAX = 90
const UPCOMING_MAX = 20

interface Wanted {
  readonly days: number
  readonly format: Format | null
}

export function reporting({ dbOf }: { readonly dbOf: (userId: string) => Db }): Executor {
  const execute: Executor = async (run) => {
    const { days, format } = wanted(run.parameters)
    const { userId, timezone, signal } = run
    const db = dbOf(userId)
    const to = await ledgerNow(db)
    const span = { userId, from: startOf(to, days, timezone), to }
    run.progress(0.1, 'reading what happened')
    const { rows, cut } = await happenings(db, span, signal)
    // Leave out the run that writes the report.
    const past = rows.filter((row) => row.trigger_id !== run.workId || row.status !== null)
    run.progress(0.6, 'reading what was checked, run and planned')
    const fires = past.map(fireOf)
    const checks = await intentChecks(db, span)
    const runs = (await workRuns(db, span)).filter((each) => !isOwn(each, run))
    const troubled = await troubledAlarms(db, span)
    const upcoming = soonest(await standing(db, userId))
    signal.throwIfAborted()
    run.progress(0.9, 'writing the report')
    const { document, metadata } = activityReport({
      ...span,
      timezone,
      task: run.task.slice(0, 500),
      fires,
      names: new Map([
        ...past.toReversed().map((row) => [triggerOf(row), row.name ?? ''] as const),
        ...runs.map(({ work_id, task }) => [work_id, task] as const),
      ]),
      checks,
      runs,
      troubled,
      upcoming,
      cut,
    })
    const content = printMarkdown(document)
    const { title } = document
    if (format === null) return { title, content, metadata: { ...metadata, days } }
    // The HTML page is printed from the figures, to align numbers.
    const printed =
      format === 'html' ? printHtml(document) : await formatted(format, title, content)
    const file = { format, content: printed }
    return { title, content, metadata: { ...metadata, days }, file }
  }
  return Object.assign(execute, { refuses })
}

function refuses({ days = DAYS, format = null }: WorkRun['parameters']): string[] {
  const isDays = typeof days === 'number' && Number.isInteger(days) && days >= 1 && days <= DAYS_MAX
  return [
    ...(isDays ? [] : [`parameters.days takes a whole number from 1 to ${DAYS_MAX}`]),
    ...formatErrors(format),
  ]
}

function wanted(parameters: WorkRun['parameters']): Wanted {
  const errors = refuses(parameters)
  if (errors.length > 0) throw new TerminalError(errors.join('; '))
  const { days = DAYS, format = null } = parameters as Partial<Wanted>
  return { days, format }
}

/** Whole local days and today so far, so that consecutive reports have no gap. */
function startOf(to: Date, days: number, timezone: string): Date {
  const zone = zoneOf(timezone)
  return new Date(dayBounds(zone, localDay(zone, to.getTime()) - days).from)
}

/** Intents with a condition have no scheduled time. */
function soonest(rows: readonly Standing[]) {
  return rows
    .flatMap((row) => {
      const { title: name, next_at: due_at } = aheadOf(row)
      return due_at === null ? [] : [{ kind: row.kind, name, due_at }]
    })
    .sort((a, b) => a.due_at.getTime() - b.due_at.getTime() || (a.name < b.name ? -1 : 1))
    .slice(0, UPCOMING_MAX)
}

const triggerOf = ({ trigger_id, name, session_key }: Happening) =>
  trigger_id ?? name ?? session_key

function fireOf(row: Happening): Fire {
  const { outcome, reason, verdicts } = judgeOccasion(row)
  const are = (...states: readonly string[]) =>
    row.messages.filter((status) => states.includes(status)).length
  // A message that could not be delivered is reported as such: its turn did not fail.
  const failed = outcome === 'failed' && row.status === 'failed'
  return {
    kind: row.type,
    trigger: triggerOf(row),
    at: row.created_at,
    delivered: are('completed'),
    undelivered: are('pending', 'executing'),
    lost: are('failed'),
    heldBack: verdicts.filter(({ allowed }) => !allowed).map(({ rule }) => rule),
    error: failed ? (reason?.error ?? 'failed').slice(0, 300) : null,
  }
}

function isOwn(output: { work_id: string; run_number: number }, run: WorkRun): boolean {
  return output.work_id === run.workId && output.run_number === run.runNumber
}
