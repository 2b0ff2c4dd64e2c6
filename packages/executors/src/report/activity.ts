/** The report on what a person's agents did: figures in, document out. */

import { formatLocal } from '../../../schedule/src/index.ts'
import type { Block, Document, Section } from './document.ts'
import type { CheckFigure, OutputFigure, TroubledAlarm } from './figure-rows.ts'
import { type Counts, type Fire, firedOf, KINDS, type Kind, tally } from './tally.ts'

const FAILURES_MAX = 30
const ROWS_MAX = 60
/** Names and errors are cut to this length, so that the report fits into an output. */
const CELL_MAX = 160

export interface ActivityFigures {
  readonly from: Date
  readonly to: Date
  readonly timezone: string
  readonly task: string
  readonly fires: readonly Fire[]
  /** Display names of trigger kinds. */
  readonly names: ReadonlyMap<string, string>
  readonly checks: readonly CheckFigure[]
  readonly runs: readonly OutputFigure[]
  readonly troubled: readonly TroubledAlarm[]
  readonly upcoming: readonly {
    readonly kind: Kind
    readonly name: string
    readonly due_at: Date
  }[]
  /** More events existed than were counted. */
  readonly cut: boolean
}

export interface Activity {
  readonly document: Document
  /** The same in figures, for programs. */
  readonly metadata: Readonly<Record<string, unknown>>
}

export function activityReport(figures: ActivityFigures): Activity {
  const { from, to, timezone } = figures
  const sums = tally(figures.fires, from, to, timezone)
  const first = sums.days[0]?.day ?? ''
  const last = sums.days.at(-1)?.day ?? ''
  const document: Document = {
    title: `Activity report, ${first} to ${last}`,
    intro: [
      `From ${formatLocal(from.getTime(), timezone)} to ${formatLocal(to.getTime(), timezone)}. Days and times are in ${timezone}.`,
      `Asked for: ${figures.task}`,
      ...(figures.cut
        ? ['There was more than one report counts: the figures below are the least there was.']
        : []),
    ],
    sections: [
      summary(sums.total, figures),
      section('By day', [dayTable(sums.days)]),
      triggerSection(sums.triggers, figures.names),
      heldBackSection(sums.rules, figures.checks),
      failureSection(figures),
      runSection(figures.runs),
      upcomingSection(figures),
    ],
  }
  const { fired, ...counts } = sums.total
  const metadata = {
    from: from.toISOString(),
    to: to.toISOString(),
    timezone,
    fired,
    delivered: counts.delivered,
    undelivered: counts.undelivered,
    lost: counts.lost,
    held_back: counts.heldBack,
    failed: counts.failed,
    complete: !figures.cut,
  }
  return { document, metadata }
}

const short = (cell: string | number) =>
  typeof cell === 'string' && cell.length > CELL_MAX ? `${cell.slice(0, CELL_MAX - 1)}…` : cell

/** Limits all tables except the days, and reports how many rows are left out. */
function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): Block[] {
  const shown = rows.slice(0, ROWS_MAX).map((row) => row.map(short))
  const rest = rows.length - shown.length
  const more = rest > 0 ? [text(`And ${rest} more.`)] : []
  return [{ kind: 'table', head, rows: shown }, ...more]
}

const section = (heading: string, blocks: readonly Block[]): Section => ({ heading, blocks })
const text = (words: string): Block => ({ kind: 'text', text: words })
const plural = (count: number, one: string, many = `${one}s`) =>
  `${count} ${count === 1 ? one : many}`

const KIND_WORDS: Record<Kind, readonly [string, string]> = {
  alarm: ['alarm', 'alarms'],
  timer: ['follow-up', 'follow-ups'],
  intent: ['intent', 'intents'],
  work: ['run of work', 'runs of work'],
}

function summary(total: Counts, { runs, upcoming }: ActivityFigures): Section {
  const fired = firedOf(total)
  const parts = KINDS.filter((kind) => total.fired[kind] > 0).map((kind) =>
    plural(total.fired[kind], ...KIND_WORDS[kind]),
  )
  const failed = runs.filter((run) => run.status === 'failed').length
  const items = [
    fired === 0
      ? 'Nothing fired.'
      : `${plural(fired, 'time')} something fired: ${parts.join(', ')}.`,
    `${plural(total.delivered, 'message')} delivered, ${total.undelivered} waiting to be delivered, ${total.lost} given up.`,
    `${plural(total.heldBack, 'message')} held back.`,
    `${plural(total.failed, 'turn')} failed, and ${plural(failed, 'run')} of work.`,
    upcoming.length === 0 ? 'Nothing is coming up.' : `Next comes ${oneOf(upcoming)}.`,
  ]
  return section('In short', [{ kind: 'list', items }])
}

function oneOf(upcoming: ActivityFigures['upcoming']): string {
  const [next] = upcoming
  return next === undefined ? 'nothing' : `${kindWord(next.kind)} “${short(next.name)}”`
}

const kindWord = (kind: Kind) => KIND_WORDS[kind][0]

function dayTable(days: readonly { day: string; counts: Counts }[]): Block {
  return {
    kind: 'table',
    head: ['Day', 'Alarms', 'Follow-ups', 'Intents', 'Work', 'Delivered', 'Held back', 'Failed'],
    rows: days.map(({ day, counts }) => [
      day,
      ...KINDS.map((kind) => counts.fired[kind]),
      counts.delivered,
      counts.heldBack,
      counts.failed,
    ]),
  }
}

function triggerSection(
  triggers: readonly { trigger: string; kind: Kind; counts: Counts }[],
  names: ReadonlyMap<string, string>,
): Section {
  if (triggers.length === 0) return section('By trigger', [text('Nothing fired.')])
  const rows = triggers.map(({ trigger, kind, counts }) => [
    names.get(trigger) ?? trigger,
    kindWord(kind),
    firedOf(counts),
    counts.delivered,
    counts.undelivered,
    counts.heldBack,
    counts.failed,
  ])
  const head = ['Trigger', 'Kind', 'Fired', 'Delivered', 'Waiting', 'Held back', 'Failed']
  return section('By trigger', table(head, rows))
}

const RULE_WORDS: Readonly<Record<string, string>> = {
  hard_cap_reached: 'The cap of follow-ups without an answer was reached.',
  cooldown_active: 'Too soon after the message before.',
  gate_blocked: 'An intent was ready and its gate said no.',
  condition_not_met: 'An intent was checked and its condition did not hold.',
  expired: 'An intent had passed its end.',
}

function heldBackSection(
  rules: readonly { rule: string; times: number }[],
  checks: ActivityFigures['checks'],
): Section {
  const rows: (string | number)[][] = rules.map(({ rule, times }) => [
    'message',
    rule,
    times,
    RULE_WORDS[rule] ?? '',
  ])
  for (const check of checks) {
    if (check.status === 'success' || check.status === 'failed') continue
    const name = check.name ?? 'a deleted intent'
    rows.push([`intent “${name}”`, check.status, check.checks, RULE_WORDS[check.status] ?? ''])
  }
  if (rows.length === 0) return section('Held back, and why', [text('Nothing was held back.')])
  return section('Held back, and why', table(['What', 'Rule', 'Times', 'Why'], rows))
}

function failureSection({ fires, names, runs, troubled, checks, timezone }: ActivityFigures) {
  const failures: { at: number; row: string[] }[] = []
  const when = (at: Date) => formatLocal(at.getTime(), timezone)
  // A failed run of work has an output that says so.
  for (const { kind, trigger, at, error } of fires)
    if (error !== null && kind !== 'work')
      failures.push({
        at: at.getTime(),
        row: [when(at), `${kindWord(kind)} “${names.get(trigger) ?? trigger}”`, error],
      })
  for (const run of runs)
    if (run.status === 'failed')
      failures.push({
        at: run.created_at.getTime(),
        row: [
          when(run.created_at),
          `work “${run.task}”, run ${run.run_number}`,
          run.error_message ?? '',
        ],
      })
  failures.sort((a, b) => b.at - a.at)
  const rows = failures.slice(0, FAILURES_MAX).map(({ row }) => row)
  for (const alarm of troubled)
    rows.push([
      alarm.status === 'failed' ? 'given up' : 'last error',
      `alarm “${alarm.name}”`,
      `${alarm.last_error}${alarm.failure_count > 0 ? ` (${plural(alarm.failure_count, 'attempt')})` : ''}`,
    ])
  for (const check of checks)
    if (check.status === 'failed')
      rows.push([
        plural(check.checks, 'time'),
        `intent “${check.name ?? 'deleted'}”`,
        check.error ?? '',
      ])
  if (rows.length === 0) return section('What failed', [text('Nothing failed.')])
  const rest = failures.length - FAILURES_MAX
  const older = rest > 0 ? [text(`And ${plural(rest, 'older failure')}.`)] : []
  return section('What failed', [...table(['When', 'What', 'Error'], rows), ...older])
}

function runSection(runs: ActivityFigures['runs']): Section {
  const works = new Map<string, { task: string; latest: string; counts: Map<string, number> }>()
  for (const run of runs) {
    const one = works.get(run.work_id) ?? { task: run.task, latest: '', counts: new Map() }
    works.set(run.work_id, one)
    if (one.latest === '' && run.title !== null) one.latest = run.title
    one.counts.set(run.status, (one.counts.get(run.status) ?? 0) + 1)
  }
  if (works.size === 0) return section('Runs of work', [text('No work was run.')])
  const rows = [...works.values()].map(({ task, latest, counts }) => {
    const count = (status: string) => counts.get(status) ?? 0
    return [task, count('completed'), count('failed'), count('pending') + count('running'), latest]
  })
  const head = ['Work', 'Completed', 'Failed', 'Open', 'Latest result']
  return section('Runs of work', table(head, rows))
}

function upcomingSection({ upcoming, timezone }: ActivityFigures): Section {
  if (upcoming.length === 0) return section('Coming up', [text('Nothing is coming up.')])
  const rows = upcoming.map(({ kind, name, due_at }) => [
    formatLocal(due_at.getTime(), timezone),
    kindWord(kind),
    name,
  ])
  return section('Coming up', table(['When', 'Kind', 'What'], rows))
}
