/**
 * The text of an iCalendar file as blocks with their properties. Each entry is parsed by itself, so that an
 * invalid one does not affect the others.
 */
import ICAL from 'ical.js'
import { SourceError } from '../../../src/features/intents/source.ts'

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

const BLOCKS_MAX = 20_000
const BLOCK_MAX = 64 * 1024
const BLOCK_NAMES = ['VEVENT', 'VTIMEZONE']

export function readCalendarText(text: string): CalendarText {
  if (!/^\s*BEGIN:VCALENDAR\s/i.test(text))
    throw new SourceError('the answer is no iCalendar file: it does not begin with BEGIN:VCALENDAR')
  const lines = text.split(/\r\n|\r|\n/)
  if (!lines.some((line) => isLine(line, 'END:VCALENDAR')))
    throw new SourceError('the iCalendar file is cut off: END:VCALENDAR is missing')
  const { blocks, broken } = blocksOf(lines)
  if (blocks.length > BLOCKS_MAX)
    throw new SourceError(`the calendar has more than ${BLOCKS_MAX} entries`)
  const read = blocks.map((each) => parsed(each)).filter((block) => block !== null)
  const zone = lines.find((line) => /^X-WR-TIMEZONE[;:]/i.test(line))
  return {
    timezone: zone?.slice(zone.indexOf(':') + 1).trim() ?? null,
    entries: read.filter((block) => block.name === 'vevent'),
    zones: read.filter((block) => block.name === 'vtimezone'),
    wrong: broken + blocks.length - read.length,
  }
}

const isLine = (line: string, text: string) =>
  line.length < 64 && line.trimEnd().toUpperCase() === text

/** Reads line by line, once; an entry without an end does not affect the others. */
function blocksOf(lines: readonly string[]): { blocks: string[]; broken: number } {
  const blocks: string[] = []
  let broken = 0
  let open: { name: string; lines: string[]; size: number } | null = null
  let alarm = false
  for (const line of lines) {
    const begins = BLOCK_NAMES.find((name) => isLine(line, `BEGIN:${name}`))
    if (begins !== undefined) {
      if (open !== null) broken++
      open = { name: begins, lines: [], size: 0 }
      alarm = false
    }
    if (open === null) continue
    // Alarms within an entry are ignored, valid or not.
    if (isLine(line, 'BEGIN:VALARM')) alarm = true
    if (!alarm) {
      open.lines.push(line)
      open.size += line.length
    }
    if (isLine(line, 'END:VALARM')) alarm = false
    if (!isLine(line, `END:${open.name}`)) continue
    if (open.size > BLOCK_MAX) broken++
    else blocks.push(open.lines.join('\r\n'))
    open = null
  }
  return { blocks, broken: broken + (open === null ? 0 : 1) }
}

type Parsed = [string, unknown[][], Parsed[]]

function parsed(text: string): Block | null {
  try {
    return blockOf(ICAL.parse(plainRules(text)) as unknown as Parsed, 2)
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
