/**
 * An answer as text for a model: the `words` that it carries, of each item in a list. The JSON may come from a server of another
 * version, so a missing field is left out.
 */
import { dayText, quoted } from '../core/words.ts'

export type Fields = Readonly<Record<string, unknown>>

export interface TextRow {
  /** Of a list: what one item and several are called. */
  readonly items?: readonly [one: string, many: string, order?: string]
  /** Of an operation that answers without a body; `$` stands for the id it was given. */
  readonly done?: string
}

const DEDUPED =
  'This idempotency_key was used before, so nothing new was set. This is the first one:'
/** How many a list without a cursor holds where no limit is given. */
const SHOWN_BY_DEFAULT = 50

const text = (from: Fields, name: string): string => {
  const value = from[name]
  return typeof value === 'string' ? value : ''
}
const texts = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}

export function answerText(
  { items, done }: TextRow,
  answer: Fields | null,
  args: Fields,
  now: number,
): string {
  if (answer === null) return (done ?? 'Done.').replace('$', text(args, 'id'))
  if (items !== undefined) return listText(items, answer, args, now)
  const words = texts(answer.words).join(' ')
  const [ref, id] = [text(answer, 'ref'), text(answer, 'id')]
  const named = ref === '' ? `Its id is ${id}.` : `Its ref is ${ref}.`
  const more = [
    ...texts(answer.notes).map((note) => `Note: ${note}.`),
    ...(id === '' ? [] : [named]),
  ]
  const again = answer.deduped === true ? [DEDUPED] : []
  return [...again, words, ...more.filter((each) => !words.includes(each.slice(0, -1)))].join(' ')
}

/** What there is, one line each, and how to get the rest. */
function listText(
  [one, many, order = 'newest first']: readonly [string, string, string?],
  answer: Fields,
  args: Fields,
  now: number,
): string {
  const items = Array.isArray(answer.data) ? answer.data.map(fields) : []
  if (items.length === 0) return `There are no ${many}.`
  const count = items.length === 1 ? `1 ${one}` : `${items.length} ${many}`
  const lines = items.map((item) => `- ${itemText(item, args, now)}`)
  return [`${count}, ${order}:`, ...lines, ...moreText(answer, args, items.length)].join('\n')
}

function moreText(answer: Fields, args: Fields, shown: number): string[] {
  const cursor = text(answer, 'next_cursor')
  if (cursor !== '') return [`There are more: call again with cursor ${JSON.stringify(cursor)}.`]
  // A plain array has no cursor: a full page may not be the last one.
  if ('next_cursor' in answer || shown < Number(args.limit ?? SHOWN_BY_DEFAULT)) return []
  const offset = Number(args.offset ?? 0) + shown
  return [`There may be more: call again with offset ${offset}.`]
}

/** Entries of the ledger name their trigger and the time beside their words. */
function itemText(item: Fields, args: Fields, now: number): string {
  const words = answerText({}, item, args, now)
  if (item.trigger === undefined) return words
  const { kind, name } = fields(item.trigger)
  const at = Date.parse(text(item, 'scheduled_for') || text(item, 'at'))
  const when = Number.isNaN(at) ? '' : `${dayText(at, text(args, 'timezone') || 'UTC', now)} `
  return `${when}${texts(kind).join()}${texts(name).map((each) => ` ${quoted(each)}`)}: ${words}`
}
