/**
 * The text of an iCalendar file as blocks with their properties. Each entry is parsed by itself, so that a
 * wrong one costs only itself.
 */
import ICAL from 'ical.js'
import { SourceError } from './source.ts'

export interface CalendarProperty {
  readonly params: Readonly<Record<string, unknown>>
  readonly value: unknown
  readonly values: readonly unknown[]
}

export interface Block {
  readonly name: string
  readonly properties: ReadonlyMap<string, readonly CalendarProperty[]>
  readonly blocks: readonly Block[]
}

export interface CalendarText {
  /** The zone that times without one are in, where the calendar names it. */
  readonly timezone: string | null
  readonly entries: readonly Block[]
  readonly zones: readonly Block[]
  /** Entries that could not be read. */
  readonly wrong: number
}

const ENTRIES_MAX = 20_000
const ENTRY_MAX = 64 * 1024
const BLOCKS = /^BEGIN:(VEVENT|VTIMEZONE)[ \t]*$([\s\S]*?)^END:\1[ \t]*$/gim

export function readCalendarText(text: string): CalendarText {
  if (!/^\s*BEGIN:VCALENDAR\s/i.test(text))
    throw new SourceError('the answer is no iCalendar file: it does not begin with BEGIN:VCALENDAR')
  if (!/^END:VCALENDAR\s*$/im.test(text))
    throw new SourceError('the iCalendar file is cut off: END:VCALENDAR is missing')
  const entries: Block[] = []
  const zones: Block[] = []
  let wrong = 0
  const unfolded = text.replaceAll(/\r\n?/g, '\n')
  for (const [all, name = ''] of unfolded.matchAll(BLOCKS)) {
    const block = all.length > ENTRY_MAX ? null : parsed(all)
    if (block === null) wrong++
    else if (name.toUpperCase() === 'VEVENT') entries.push(block)
    else zones.push(block)
    if (entries.length > ENTRIES_MAX)
      throw new SourceError(`the calendar has more than ${ENTRIES_MAX} entries`)
  }
  const timezone = /^X-WR-TIMEZONE[^:\n]*:[ \t]*(\S{1,64})/im.exec(unfolded)?.[1] ?? null
  return { entries, zones, wrong, timezone }
}

type Parsed = [string, unknown[][], Parsed[]]

function parsed(text: string): Block | null {
  try {
    // Alarms within an entry are not read, and may be nested or broken as they like.
    const bare = text.replaceAll(/^BEGIN:VALARM[ \t]*$[\s\S]*?^END:VALARM[ \t]*$\n?/gim, '')
    return blockOf(ICAL.parse(plainRules(bare)) as unknown as Parsed, 2)
  } catch {
    return null
  }
}

/** Rules are read by our own reader, from their text: the parser's would throw on what it does not know. */
function plainRules(text: string): string {
  return text.replaceAll(/^RRULE(?=[;:])/gim, 'X-RRULE')
}

function blockOf([name, properties, blocks]: Parsed, depth: number): Block {
  const found = new Map<string, CalendarProperty[]>()
  for (const [key, params, , ...values] of properties) {
    const plain = String(key)
      .toLowerCase()
      .replace(/^x-rrule$/, 'rrule')
    const list = found.get(plain) ?? []
    list.push({ params: params as Record<string, unknown>, value: values[0], values })
    found.set(plain, list)
  }
  const inner = depth > 0 ? blocks.map((each) => blockOf(each, depth - 1)) : []
  return { name, properties: found, blocks: inner }
}

export function propertiesOf(block: Block, name: string): readonly CalendarProperty[] {
  return block.properties.get(name) ?? []
}

export function propertyOf(block: Block, name: string): CalendarProperty | undefined {
  return propertiesOf(block, name)[0]
}
