/** What a row of the command table says; `resource.ts` makes commands of rows. */

import { fromNow } from '../../../src/core/span.ts'
import type { Column, Item } from './table.ts'
import { type Colour, isInstant } from './text.ts'

export interface Field {
  /** Of the operation's input. */
  readonly name: string
  readonly kind: 'text' | 'number' | 'json' | 'flag'
  readonly about: string
  /** The flag, where it is not the name with dashes. */
  readonly flag: string
}

export interface Row {
  readonly verb: string
  /** In the table of operations; a row whose operation is not there is not shown. */
  readonly operation: string
  readonly about: string
  /** Positional: `<id>` is required, `[schedule]` is not; `<text...>` takes the rest. */
  readonly args?: readonly string[]
  readonly fields?: readonly Field[]
  /** Sent always. */
  readonly fixed?: Item
  /** Adds what follows from what was given. */
  readonly complete?: (input: Item) => Item
  /** Of a list. */
  readonly columns?: readonly Column[]
  /** Of a list: what an empty one is called. */
  readonly none?: string
  /** Where in the answer the thing itself is. */
  readonly at?: string
  /** A list inside the answer, shown below it. */
  readonly below?: { readonly at: string; readonly columns: readonly Column[] }
  /** Printed where the answer has no `words`; `$name` stands for a field of the answer or of what was given. */
  readonly done?: string
  /** The answer has an output that `--wait` can wait for. */
  readonly waits?: boolean
}

export interface Resource {
  readonly name: string
  readonly about: string
  readonly rows: readonly Row[]
}

const flagOf = (name: string) => name.replaceAll('_', '-')
const field =
  (kind: Field['kind']) =>
  (name: string, about: string, flag = flagOf(name)) => ({
    name,
    kind,
    about,
    flag,
  })
export const text = field('text')
export const number = field('number')
export const json = field('json')
export const flag = field('flag')

/** Of every list, of those in pages, and of what has times of its own. */
export const LIMIT = number('limit', 'at most so many')
export const PAGED = [LIMIT, text('cursor', 'where the page before ended')]
export const TIMEZONE = text(
  'timezone',
  'an IANA zone, such as Europe/Berlin; "person" follows theirs',
)

export function valueAt(item: Item, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((value, part) => (value as Item | null | undefined)?.[part], item)
}

/** A field as it is. */
export function column(name: string, title = name, options: Partial<Column> = {}): Column {
  return {
    title: title.replaceAll('_', ' ').toUpperCase(),
    text: (item) => shown(valueAt(item, name)),
    ...options,
  }
}

export const wide = (name: string, title = name) => column(name, title, { flexible: true })

/** A field that is an instant, told from now. */
export function when(name: string, title = name): Column {
  return column(name, title, { text: (item, now) => relative(valueAt(item, name), now) })
}

export const status = (name = 'status', title = name) =>
  column(name, title, { colour: (item) => STATUS_COLOURS[String(valueAt(item, name))] ?? null })

const STATUS_COLOURS: Readonly<Record<string, Colour>> = {
  active: 'green',
  true: 'green',
  committed: 'green',
  completed: 'green',
  success: 'green',
  failed: 'red',
  cancelled: 'dim',
  fired: 'dim',
  false: 'dim',
  retrying: 'yellow',
  running: 'blue',
  executing: 'blue',
  pending: 'yellow',
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export function relative(value: unknown, now: number): string {
  return isInstant(value) ? fromNow(Date.parse(value), now) : ''
}
