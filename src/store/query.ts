/**
 * Statements on their way through `pg` in one round trip, each kept under its name. What their rows look like is asked for once, when a
 * connection parses them, and not each time they run: to tell, to read and to prepare for the same thirty columns again took as long as
 * many a statement itself. PostgreSQL runs those of one round trip as one transaction and stops at the first that fails.
 */
import type pg from 'pg'

/** What `pg` calls while they are under way, and what it is given there. */
interface Line extends pg.Connection {
  readonly parsedStatements: Readonly<Record<string, string>>
  bind(config: object): void
  execute(config: object): void
  parse(config: object): void
  describe(config: object): void
}

interface Column {
  readonly name: string
  readonly dataTypeID: number
}

type Parser = (text: string) => unknown

interface Shape {
  readonly names: readonly string[]
  readonly parsers: readonly Parser[]
  /** All of them null: copied and filled in, so that all rows are of one kind to V8. */
  readonly empty: Readonly<Record<string, unknown>>
}

/** Without a name it is parsed each time. */
export interface Bound {
  readonly text: string
  readonly name?: string | undefined
  readonly values: readonly Parameter[]
}

const NOTHING: Shape = { names: [], parsers: [], empty: {} }
/** By connection and name. */
const shapes = new WeakMap<object, Map<string, Shape>>()

export class Query<R extends object> implements pg.Submittable {
  readonly #statements: readonly Bound[]
  readonly #parserOf: (oid: number) => Parser
  /** Of each statement that has ended. */
  readonly rows: R[][] = []
  #current: R[] = []
  #shape: Shape = NOTHING
  #known = new Map<string, Shape>()
  /** What could not be read of an answer, by its statement. */
  readonly unread = new Map<number, unknown>()
  /** `pg` puts its own before it where a statement has only so much time. */
  callback: (error: unknown) => void

  constructor(
    statements: readonly Bound[],
    parserOf: (oid: number) => Parser,
    done: (error: unknown) => void,
  ) {
    this.#statements = statements
    this.#parserOf = parserOf
    this.callback = done
  }

  /** Of the one that runs now: `pg` notes under it what a connection has parsed. */
  get name(): string | undefined {
    return this.#statements[this.rows.length]?.name
  }

  get text(): string {
    return this.#statements[this.rows.length]?.text ?? ''
  }

  submit(connection: pg.Connection): null {
    const line = connection as Line
    const known = shapes.get(line) ?? new Map<string, Shape>()
    shapes.set(line, known)
    this.#known = known
    const parsed = new Set<string>()
    line.stream.cork()
    for (const { text, name = '', values } of this.#statements) {
      const isParsed = line.parsedStatements[name] !== undefined || parsed.has(name)
      if (!isParsed) line.parse({ text, name })
      line.bind({ statement: name, values })
      if (!parsed.has(name) && !(isParsed && known.has(name))) {
        known.delete(name)
        line.describe({ type: 'P' })
      }
      if (name !== '') parsed.add(name)
      line.execute({})
    }
    line.sync()
    line.stream.uncork()
    this.#begin()
    return null
  }

  #begin(): void {
    this.#current = []
    this.#shape = this.#known.get(this.name ?? '') ?? NOTHING
  }

  handleRowDescription({ fields }: { readonly fields: readonly Column[] }): void {
    const names = fields.map(({ name }) => name)
    this.#shape = {
      names,
      parsers: fields.map(({ dataTypeID }) => this.#parserOf(dataTypeID)),
      empty: Object.fromEntries(names.map((name) => [name, null])),
    }
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const { names, parsers, empty } = this.#shape
    const row: Record<string, unknown> = { ...empty }
    try {
      for (let at = 0; at < fields.length; at++) {
        const text = fields[at]
        if (text !== null) row[names[at] as string] = parsers[at]?.(text as string)
      }
      this.#current.push(row as R)
    } catch (error) {
      this.unread.set(this.rows.length, error)
    }
  }

  /** Also one without rows has a shape: that of none. */
  handleCommandComplete(): void {
    const { name } = this
    if (name !== undefined) this.#known.set(name, this.#shape)
    this.rows.push(this.#current)
    this.#begin()
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete()
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }

  handleError(error: unknown): void {
    this.callback(error)
  }
}

// Parameters and columns in PostgreSQL's text format. A group commit sends tens of arrays with hundreds of elements: the driver's own printing
// and date parsing took a fifth of the process's time there.
const QUOTED = /["\\]/
const ESCAPE = /(["\\])/g

/** As the protocol takes it: text, bytes, or nothing. */
export type Parameter = string | Buffer | null

export function parameter(value: unknown): Parameter {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return arrayLiteral(value)
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  throw new TypeError('no object goes to the database: say it as text')
}

function arrayLiteral(values: readonly unknown[]): string {
  let text = '{'
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += ','
    text += element(values[index])
  }
  return `${text}}`
}

function element(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'string')
    return `"${QUOTED.test(value) ? value.replace(ESCAPE, '\\$1') : value}"`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return `"${value.toISOString()}"`
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString('hex')}"`
  throw new TypeError(`no array of ${typeof value} goes to the database`)
}

/**
 * `2026-11-15 22:23:31.942+00`, as a session in UTC prints it; undefined for any other form. Reckoned from the digits: to have
 * `Date` read them costs twice as much, and a page of a list holds hundreds. What lies below a millisecond is cut off.
 */
export function utcInstant(text: string): Date | undefined {
  const end = text.length - 3
  if (end < 19 || end > 26 || text.charCodeAt(4) !== DASH || !text.endsWith('+00')) return undefined
  const year = two(text, 0) * 100 + two(text, 2)
  // `Date.UTC` takes the first hundred years for those of the twentieth century.
  if (year < 100) return undefined
  let ms = 0
  for (let at = 20, worth = 100; at < end && worth >= 1; at++, worth /= 10)
    ms += (text.charCodeAt(at) - ZERO) * worth
  return new Date(
    Date.UTC(year, two(text, 5) - 1, two(text, 8), two(text, 11), two(text, 14), two(text, 17), ms),
  )
}

const ZERO = 48
const DASH = 45

/** Two digits. */
function two(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO
}

/**
 * The time of day is the database's, and reaches every statement as its first parameter: no statement calls `now()`, which
 * distributed databases refuse inside expressions, and which would cost a round trip wherever a process wants to know it.
 *
 * A transaction has the instant of its beginning, asked for in the round trip that begins it. A single statement has the instant
 * last heard plus what has passed since by the steady clock: never ahead of the database, so that nothing is early, and behind it
 * by no more than a round trip. After a second without hearing it is asked for again, so that a clock which was set is followed.
 */
const TRUST_MS = 1_000

/** Answers with one row, `now`: seconds since 1970 with their microseconds, as text. */
export const ASK_TIME = 'select extract(epoch from now()) as now'

interface Heard {
  /** The database's time minus `performance.now()`, at most. */
  readonly offsetMs: number
  readonly atMs: number
}

export class StoreTime {
  /** The instant a test clock dictates, or null. */
  readonly dictated: () => Date | null
  #heard: Heard | null = null
  #lastMs = Number.NEGATIVE_INFINITY

  constructor(dictated: () => Date | null) {
    this.dictated = dictated
  }

  /**
   * Takes note of an answer; gives back its instant. How long it was under way is unknown, so of the answers within a
   * second the one that came soonest after it was given counts: the others were only slower.
   */
  heard(seconds: string): number {
    const atMs = performance.now()
    const instant = Number(seconds) * 1000
    const offsetMs = instant - atMs
    const best = this.#heard
    if (best === null || offsetMs >= best.offsetMs || atMs - best.atMs >= TRUST_MS)
      this.#heard = { offsetMs, atMs }
    this.#lastMs = atMs
    return instant
  }

  /** Milliseconds since 1970; null where it must be asked for. */
  reckoned(): number | null {
    const nowMs = performance.now()
    if (this.#heard === null || nowMs - this.#lastMs >= TRUST_MS) return null
    return nowMs + this.#heard.offsetMs
  }
}

/** As a parameter: to the microsecond, in UTC. */
export function instantText(ms: number): string {
  const micros = Math.round(ms * 1000)
  const whole = Math.floor(micros / 1000)
  const rest = String(micros - whole * 1000).padStart(3, '0')
  return new Date(whole).toISOString().replace('Z', `${rest}Z`)
}
