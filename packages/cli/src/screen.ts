/** Where a command writes: tables and words for people, JSON for programs. */
import { wallClock } from '../../../src/clock.ts'
import { environment } from '../../../src/config.ts'
import { fromNow } from '../../../src/core/span.ts'
import { type Column, type Item, tableText } from './table.ts'
import { isInstant, type Paint, painter, plain } from './text.ts'

export interface Screen {
  readonly paint: Paint
  /** Null where nobody looks at a terminal. */
  readonly width: number | null
  readonly now: number
  write(text: string): void
  /** Beside the answer: what is good to know, and no part of it. */
  note(text: string): void
  json(value: unknown): void
  table(columns: readonly Column[], items: readonly Item[]): void
  /** Its fields, one on each line. */
  fields(item: Item): void
}

/** Colours only on a terminal that has them, and never against somebody's wish. */
export function coloursOn(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  return isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb'
}

export function screen(): Screen {
  const { stdout, stderr } = process
  const paint = painter(coloursOn(stdout.isTTY === true, environment()))
  const width = stdout.isTTY ? stdout.columns || 80 : null
  const write = (text: string) => void stdout.write(text)
  return {
    paint,
    width,
    get now() {
      return wallClock()
    },
    write,
    note: (text) => void stderr.write(`${text}\n`),
    json: (value) => write(`${JSON.stringify(value)}\n`),
    table: (columns, items) => write(tableText(columns, items, { width, paint, now: wallClock() })),
    fields: (item) => write(fieldsText(item, paint, wallClock())),
  }
}

export function fieldsText(item: Item, paint: Paint, now: number): string {
  const shown = Object.entries(item).filter(([, value]) => value !== null && value !== undefined)
  const wide = Math.max(0, ...shown.map(([name]) => name.length))
  return shown
    .map(
      ([name, value]) => `${paint('dim', name.padEnd(wide))}  ${valueText(value, now, wide + 2)}\n`,
    )
    .join('')
}

function valueText(value: unknown, now: number, indent: number): string {
  if (isInstant(value)) return `${value} (${fromNow(Date.parse(value), now)})`
  if (typeof value === 'string')
    return plain(value, 'lines').replaceAll('\n', `\n${' '.repeat(indent)}`)
  if (Array.isArray(value) && value.length > 0 && value.every(isInstant))
    return value.map((each) => valueText(each, now, indent)).join(`\n${' '.repeat(indent)}`)
  return plain(JSON.stringify(value))
}
