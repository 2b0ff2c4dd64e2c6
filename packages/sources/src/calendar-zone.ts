/**
 * Local times of calendars as instants. A zone known by its IANA name follows our own data; one that only the
 * calendar itself describes (Outlook's names) follows that description.
 */

import { DAY } from '../../schedule/src/calendar.ts'
import { existingDay } from '../../schedule/src/instant.ts'
import { instantOf, isZone, offsetAt, zoneOf } from '../../schedule/src/zone.ts'
import { type Block, propertiesOf, propertyOf } from './calendar-text.ts'
import { type Budget, occurrences, readRule } from './recurrence.ts'

/** A date, or a date and time, as written: on the wall clock unless it says UTC. */
export interface Written {
  readonly wall: number
  readonly isDate: boolean
  readonly isUtc: boolean
}

const FORM = /^(\d{4})-?(\d{2})-?(\d{2})(?:T(\d{2}):?(\d{2}):?(\d{2})(Z)?)?$/

export function readWritten(text: unknown): Written | null {
  const [all, y, m, d, hour, minute, second, utc] = FORM.exec(String(text)) ?? []
  const day = all === undefined ? null : existingDay(Number(y), Number(m), Number(d))
  if (day === null || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59) return null
  const seconds =
    (Number(hour ?? 0) * 60 + Number(minute ?? 0)) * 60 + Math.min(Number(second ?? 0), 59)
  return { wall: day * DAY + seconds * 1000, isDate: hour === undefined, isUtc: utc !== undefined }
}

/** From wall clock to instant. */
export type ToInstant = (wall: number) => number

const utc: ToInstant = (wall) => wall

/** A time that the clock skips is read with the offset before the gap, as calendars do. */
function iana(name: string): ToInstant {
  const zone = zoneOf(name)
  return (wall) => {
    const { at, gapMs } = instantOf(zone, wall)
    return gapMs === 0 ? at : wall - offsetAt(zone, at - 1)
  }
}

interface Change {
  /** On the wall clock before the change. */
  readonly wall: number
  readonly before: number
  readonly after: number
}

/** Zone descriptions repeat each year: looking back this far finds the current offset. */
const BACK_MS = 400 * DAY

/** The zones of one calendar, by the names its entries use. */
export class CalendarZones {
  readonly #described = new Map<string, Block>()
  readonly #known = new Map<string, ToInstant>()
  readonly #floating: ToInstant
  readonly #now: number
  readonly #budget: Budget

  constructor(blocks: readonly Block[], floating: string, now: Date, budget: Budget) {
    for (const block of blocks) {
      const name = propertyOf(block, 'tzid')?.value
      if (typeof name === 'string') this.#described.set(name, block)
    }
    this.#floating = ianaName(floating) === null ? utc : iana(ianaName(floating) ?? 'UTC')
    this.#now = now.getTime()
    this.#budget = budget
  }

  /** An unknown zone is replaced by the calendar's own. */
  zone(name: string | null, written: Written): ToInstant {
    if (written.isUtc) return utc
    if (name === null || written.isDate) return this.#floating
    let known = this.#known.get(name)
    if (known === undefined) {
      known = this.#find(name)
      this.#known.set(name, known)
    }
    return known
  }

  #find(name: string): ToInstant {
    const found = ianaName(name)
    if (found !== null) return iana(found)
    const block = this.#described.get(name)
    return block === undefined ? this.#floating : this.#describedBy(block)
  }

  #describedBy(block: Block): ToInstant {
    const changes = block.blocks
      .flatMap((each) => this.#changesOf(each))
      .sort((a, b) => a.wall - b.wall)
    const [first] = changes
    if (first === undefined) return this.#floating
    return (wall) => {
      const last = changes.findLast((change) => change.wall <= wall)
      if (last === undefined) return wall - first.before
      const skipped = wall < last.wall + (last.after - last.before)
      return wall - (skipped ? last.before : last.after)
    }
  }

  #changesOf(block: Block): Change[] {
    const start = readWritten(propertyOf(block, 'dtstart')?.value)
    const before = offsetOf(propertyOf(block, 'tzoffsetfrom')?.value)
    const after = offsetOf(propertyOf(block, 'tzoffsetto')?.value)
    if (start === null || before === null || after === null) return []
    const rules = propertiesOf(block, 'rrule').flatMap(({ value }) => readRule(String(value)) ?? [])
    const walls = rules.flatMap((rule) =>
      // Bounded by when the next rule begins in practice; UNTIL is honoured to the day.
      occurrences(rule, start.wall, this.#now - BACK_MS, this.#now + BACK_MS, this.#budget).filter(
        (wall) => wall <= (readWritten(rule.until)?.wall ?? Number.POSITIVE_INFINITY) + DAY,
      ),
    )
    const dates = propertiesOf(block, 'rdate').flatMap(({ values }) =>
      values.flatMap((value) => readWritten(value)?.wall ?? []),
    )
    return [start.wall, ...walls, ...dates].map((wall) => ({ wall, before, after }))
  }
}

/** Some programs put a path before the name. */
function ianaName(name: string): string | null {
  if (isZone(name)) return name
  const parts = name.split('/')
  const tail = [parts.slice(-3), parts.slice(-2)].map((each) => each.join('/'))
  return name.startsWith('/') ? (tail.find(isZone) ?? null) : null
}

function offsetOf(text: unknown): number | null {
  const [, sign, hours, minutes, seconds = '0'] =
    /^([+-])(\d{2}):?(\d{2})(?::?(\d{2}))?$/.exec(String(text)) ?? []
  if (sign === undefined) return null
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -ms : ms
}
