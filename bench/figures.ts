/** Figures of several rounds, and how they are shown: a median with its range, and its ratio to another's of the same round. */

export interface Figure {
  readonly measure: string
  readonly name: string
  readonly unit: string
  /** One for each round. */
  readonly rounds: readonly number[]
  /** What it is compared with, round by round; above 1 is faster. */
  readonly beside?: { readonly name: string; readonly rounds: readonly number[] }
  /** `least` and `most` are of the ratio where there is one, else of the figure. */
  readonly goal?: { readonly least?: number; readonly most?: number }
  /** For each turn or job. */
  readonly counted?: {
    readonly walRecords: number | null
    readonly nodeMicros: number
    readonly postgresMicros: number | null
  }
}

export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
  return { median, least: sorted[0] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN }
}

export function ratioOf({ rounds, beside }: Figure): Spread | null {
  if (beside === undefined) return null
  return spreadOf(rounds.map((value, round) => value / (beside.rounds[round] ?? Number.NaN)))
}

export function reached(figure: Figure): boolean | null {
  const { goal } = figure
  if (goal === undefined) return null
  const { median } = ratioOf(figure) ?? spreadOf(figure.rounds)
  return (
    median >= (goal.least ?? Number.NEGATIVE_INFINITY) &&
    median <= (goal.most ?? Number.POSITIVE_INFINITY)
  )
}

export function digits(value: number): string {
  if (Number.isNaN(value)) return '–'
  if (value >= 1000) return Math.round(value).toLocaleString('en-US')
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function shown({ median, least, most }: Spread): string {
  return least === most ? digits(median) : `${digits(median)} (${digits(least)}–${digits(most)})`
}

function goalOf(figure: Figure): string {
  const { goal } = figure
  if (goal === undefined) return ''
  const bound = goal.least === undefined ? `≤ ${goal.most}` : `≥ ${goal.least}`
  return `${bound} ${reached(figure) ? 'yes' : '**no**'}`
}

const HEAD = ['measure', 'who', 'figure', 'unit', 'ratio', 'beside', 'goal']
const COUNTED = ['WAL records', 'µs Node', 'µs PostgreSQL']

/** As Markdown, aligned so that it reads in a terminal too. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const ratio = ratioOf(figure)
    const { counted } = figure
    return [
      ...[figure.measure, figure.name, shown(spreadOf(figure.rounds)), figure.unit],
      ...[ratio === null ? '' : shown(ratio), figure.beside?.name ?? '', goalOf(figure)],
      ...(counted === undefined
        ? ['', '', '']
        : [counted.walRecords, counted.nodeMicros, counted.postgresMicros].map((value) =>
            value === null ? '–' : digits(value),
          )),
    ]
  })
  const head = [...HEAD, ...COUNTED]
  const widths = head.map((name, at) =>
    Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  return [
    line(head),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...rows.map(line),
  ].join('\n')
}
