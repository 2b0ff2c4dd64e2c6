/** Entries of iCalendar files, those that start within the next days; recurring ones one by one. */

import { KEY_PART, KEY_PART_FORM } from '../../../src/core/session.ts'
import { sourceKey } from '../../../src/features/intents/polling.ts'
import {
  calendarSignal,
  type NewSignal,
  TITLE_MAX,
  UID_MAX,
} from '../../../src/features/intents/signal.ts'
import type { Source, Visit } from '../../../src/features/intents/source.ts'
import { DAY } from '../../schedule/src/calendar.ts'
import { isZone } from '../../schedule/src/index.ts'
import { type Block, propertiesOf, propertyOf, readCalendarText } from './calendar-text.ts'
import { CalendarZones, readWritten, type ToInstant, type Written } from './calendar-zone.ts'
import { textOf } from './charset.ts'
import { checkUrl, everyMsOf } from './checked.ts'
import { plain } from './plain.ts'
import { type Budget, occurrences, readRule, TooMuchError } from './recurrence.ts'

export interface CalendarSourceOptions {
  readonly url: string
  /** Owner of the signals; default: everyone. */
  readonly userId?: string
  /** For whole days and times without a zone, if the calendar names none. Default: UTC. */
  readonly timezone?: string
  readonly everySeconds?: number
}

const EVERY_MS = 15 * 60_000
/** Conditions read a week ahead; a cached answer may be a day old. */
const AHEAD_MS = 8 * DAY
const WHOLE_EVERY_MS = DAY
const ENTRIES_MAX = 500
/** Days looked at, for all entries together and for each. */
const BUDGET = 2_000_000
const SERIES_BUDGET = 100_000

export function calendarSource(options: CalendarSourceOptions): Source {
  const url = checkUrl('calendarSource', options.url)
  const { userId = null, timezone = null } = options
  if (userId !== null && !KEY_PART.test(userId))
    throw new TypeError(`calendarSource: userId takes a user's id: it ${KEY_PART_FORM}`)
  if (timezone !== null && !isZone(timezone))
    throw new TypeError(
      `calendarSource: timezone takes an IANA name, got ${JSON.stringify(timezone)}`,
    )
  return {
    key: sourceKey('calendar', url, userId ?? '', timezone ?? ''),
    kind: 'calendar',
    everyMs: everyMsOf('calendarSource', options.everySeconds, EVERY_MS),
    wholeEveryMs: WHOLE_EVERY_MS,
    address: url,
    poll: (visit) => poll(url, userId, timezone, visit),
  }
}

async function poll(
  url: string,
  userId: string | null,
  timezone: string | null,
  visit: Visit,
): Promise<NewSignal[] | null> {
  const got = await visit.getIfChanged(url, { accept: 'text/calendar, */*;q=0.1' })
  if (got === null) return null
  const { entries, warnings, complete } = entriesWithin(
    textOf(got.body, got.contentType),
    visit.now,
    timezone,
  )
  for (const text of warnings) visit.warn(text)
  const signals = entries.map(({ fact, uid, title, startsAt, endsAt }) => ({
    ...calendarSignal({ uid, title }, startsAt, endsAt, userId),
    fact,
  }))
  // After a partial read it is unknown which entries were removed.
  return complete ? [...signals, ...goneFrom(signals, visit, userId)] : signals
}

/** Future entries that were reported and are no longer in the calendar. */
function goneFrom(
  signals: readonly NewSignal[],
  { told, now }: Visit,
  userId: string | null,
): NewSignal[] {
  const there = new Set(signals.map(({ fact }) => fact))
  return [...(told ?? [])]
    .filter(([fact, at]) => at > now && !there.has(fact))
    .map(([fact, at]) => ({
      ...calendarSignal({ uid: fact, title: '' }, at, null, userId),
      ...{ fact, gone: true },
    }))
}

interface Entry {
  /** The entry, or the one occurrence of it, also when it is moved. */
  readonly fact: string
  readonly uid: string
  readonly title: string
  readonly startsAt: Date
  readonly endsAt: Date | null
}

interface Window {
  readonly from: number
  readonly to: number
  readonly zones: CalendarZones
  readonly budget: Budget
}

/** The soonest entries that start from now on. */
export function entriesWithin(
  text: string,
  now: Date,
  timezone: string | null,
): { entries: Entry[]; warnings: string[]; complete: boolean } {
  const { entries, zones, wrong, timezone: own } = readCalendarText(text)
  const budget = { left: BUDGET }
  const window: Window = {
    from: now.getTime(),
    to: now.getTime() + AHEAD_MS,
    zones: new CalendarZones(zones, timezone ?? own ?? 'UTC', now, budget),
    budget,
  }
  const warnings = wrong === 0 ? [] : [`${wrong} entries could not be read`]
  const found: Entry[] = []
  let refused: TooMuchError | null = null
  for (const series of seriesOf(entries)) {
    // A budget per entry, so that one endless series does not use up the others' share.
    const share = { left: Math.min(budget.left, SERIES_BUDGET) }
    budget.left -= share.left
    try {
      found.push(...expand(series, { ...window, budget: share }))
    } catch (error) {
      if (!(error instanceof TooMuchError)) throw error
      refused = error
    }
    budget.left += Math.max(0, share.left)
  }
  if (refused !== null) warnings.push(`${refused.message}; some are left out`)
  const soonest = found.sort((a, b) => a.startsAt.getTime() - b.startsAt.getTime())
  return { entries: soonest.slice(0, ENTRIES_MAX), warnings, complete: refused === null }
}

interface Series {
  readonly uid: string
  main: Block | null
  /** Single occurrences that were changed, by the text of their RECURRENCE-ID. */
  readonly changed: Map<string, Block>
}

/** Of two versions of the same, the one with the higher sequence number counts. */
function seriesOf(blocks: readonly Block[]): Iterable<Series> {
  const all = new Map<string, Series>()
  for (const block of blocks) {
    const uid = plain(String(propertyOf(block, 'uid')?.value ?? unnamed(block)), UID_MAX)
    const series = all.get(uid) ?? { uid, main: null, changed: new Map() }
    all.set(uid, series)
    const id = propertyOf(block, 'recurrence-id')
    if (id === undefined) series.main = newer(series.main, block)
    else series.changed.set(String(id.value), newer(series.changed.get(String(id.value)), block))
  }
  return all.values()
}

const unnamed = (block: Block) =>
  `${propertyOf(block, 'dtstart')?.value} ${propertyOf(block, 'summary')?.value}`

function newer(known: Block | null | undefined, block: Block): Block {
  const sequence = (each: Block) => Number(propertyOf(each, 'sequence')?.value ?? 0) || 0
  return known != null && sequence(known) > sequence(block) ? known : block
}

interface Time {
  readonly written: Written
  readonly toInstant: ToInstant
  readonly at: number
}

function timeOf(block: Block, name: string, { zones }: Window): Time | null {
  const property = propertyOf(block, name)
  const written = readWritten(property?.value)
  if (property === undefined || written === null) return null
  const tzid = property.params.tzid
  const toInstant = zones.zone(typeof tzid === 'string' ? tzid : null, written)
  return { written, toInstant, at: toInstant(written.wall) }
}

function expand(series: Series, window: Window): Entry[] {
  const { uid, main } = series
  const entries: Entry[] = []
  const moved = new Set<number>()
  for (const block of series.changed.values()) {
    const id = timeOf(block, 'recurrence-id', window)
    if (id === null) continue
    moved.add(id.at)
    const start = timeOf(block, 'dtstart', window)
    if (start !== null) entries.push(...within(block, uid, start, start.at, id.at, window))
  }
  const start = main === null ? null : timeOf(main, 'dtstart', window)
  if (main === null || start === null) return entries
  if (!isRecurring(main)) return [...entries, ...within(main, uid, start, start.at, null, window)]
  for (const at of startsOf(main, start, window))
    if (!moved.has(at)) entries.push(...within(main, uid, start, at, at, window))
  return entries
}

const isRecurring = (block: Block) =>
  propertiesOf(block, 'rrule').length + propertiesOf(block, 'rdate').length > 0

/** One entry, if it starts in the window and is not cancelled. */
function within(
  block: Block,
  uid: string,
  start: Time,
  at: number,
  nominal: number | null,
  window: Window,
): Entry[] {
  if (at < window.from || at > window.to) return []
  if (String(propertyOf(block, 'status')?.value).toUpperCase() === 'CANCELLED') return []
  const title = plain(String(propertyOf(block, 'summary')?.value ?? ''), TITLE_MAX)
  const fact = nominal === null ? uid : `${uid} ${new Date(nominal).toISOString()}`
  const lasts = lengthOf(block, start, window)
  return [
    {
      ...{ fact, uid, title: title === '' ? '(no title)' : title, startsAt: new Date(at) },
      endsAt: lasts === null ? null : new Date(at + lasts),
    },
  ]
}

function lengthOf(block: Block, start: Time, window: Window): number | null {
  const end = timeOf(block, 'dtend', window)
  if (end !== null) return end.at >= start.at ? end.at - start.at : null
  const [all, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] =
    /^P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/.exec(
      String(propertyOf(block, 'duration')?.value),
    ) ?? []
  if (all === undefined) return start.written.isDate ? DAY : null
  return ((+weeks * 7 + +days) * 24 * 60 + +hours * 60 + +minutes) * 60_000 + +seconds * 1000
}

/** The instants of a recurring entry in the window: its rules and extra dates, without its exceptions. */
function startsOf(block: Block, start: Time, window: Window): number[] {
  const { written, toInstant } = start
  // Zones lie within a day of UTC, on either side.
  const [from, to] = [window.from - DAY, window.to + DAY]
  const walls = new Set<number>()
  if (written.wall >= from && written.wall <= to) walls.add(written.wall)
  for (const { value } of propertiesOf(block, 'rrule')) {
    const rule = readRule(String(value))
    if (rule === null) continue
    const last = lastOf(rule.until, toInstant)
    for (const wall of occurrences(rule, written.wall, from, to, window.budget))
      if (toInstant(wall) <= last) walls.add(wall)
  }
  const starts = new Set([...walls].map(toInstant))
  for (const { at } of datesOf(block, 'rdate', window)) starts.add(at)
  for (const { at, written: off } of datesOf(block, 'exdate', window)) {
    starts.delete(at)
    // A bare date takes out whatever starts on that day of the entry's own calendar.
    if (off.isDate && !written.isDate)
      for (const wall of walls)
        if (Math.floor(wall / DAY) * DAY === off.wall) starts.delete(toInstant(wall))
  }
  return [...starts]
}

/** A bare date holds to its end. */
function lastOf(until: string | null, toInstant: ToInstant): number {
  const written = until === null ? null : readWritten(until)
  if (written === null) return Number.POSITIVE_INFINITY
  if (written.isUtc) return written.wall
  return toInstant(written.isDate ? written.wall + DAY - 1000 : written.wall)
}

function datesOf(
  block: Block,
  name: string,
  { zones }: Window,
): { at: number; written: Written }[] {
  return propertiesOf(block, name).flatMap(({ params, values }) =>
    values.flatMap((value) => {
      // A period counts by its beginning.
      const written = readWritten(Array.isArray(value) ? value[0] : String(value).split('/')[0])
      if (written === null) return []
      const zone = zones.zone(typeof params.tzid === 'string' ? params.tzid : null, written)
      return [{ at: zone(written.wall), written }]
    }),
  )
}
