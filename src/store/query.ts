/**
 * A statement on its way through `pg`, kept under its name. What its rows look like is asked for once, when a connection parses it, and not
 * each time it runs: to tell, to read and to prepare for the same thirty columns again took as long as many a statement itself.
 */
import type pg from 'pg'
import type { Parameter } from './values.ts'

/** What `pg` calls while such a one is under way, and what it is given there. */
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

const NOTHING: Shape = { names: [], parsers: [], empty: {} }
/** By connection and name. */
const shapes = new WeakMap<object, Map<string, Shape>>()

export class Query<R extends object> implements pg.Submittable {
  readonly name: string
  readonly text: string
  readonly #values: readonly Parameter[]
  readonly #parserOf: (oid: number) => Parser
  readonly #rows: R[] = []
  #shape: Shape = NOTHING
  #known: Map<string, Shape> | null = null
  #failed: unknown
  /** `pg` puts its own before it where a statement has only so much time. */
  callback: (error: unknown, rows?: R[]) => void

  constructor(
    { name, text }: { readonly name: string; readonly text: string },
    values: readonly Parameter[],
    parserOf: (oid: number) => Parser,
    done: (error: unknown, rows?: R[]) => void,
  ) {
    this.name = name
    this.text = text
    this.#values = values
    this.#parserOf = parserOf
    this.callback = done
  }

  submit(connection: pg.Connection): null {
    const line = connection as Line
    const { name, text } = this
    const known = shapes.get(line) ?? new Map<string, Shape>()
    const shape = line.parsedStatements[name] === undefined ? undefined : known.get(name)
    line.stream.cork()
    if (line.parsedStatements[name] === undefined) line.parse({ text, name })
    line.bind({ statement: name, values: this.#values })
    if (shape === undefined) {
      line.describe({ type: 'P' })
      shapes.set(line, known)
      this.#known = known
    } else this.#shape = shape
    line.execute({})
    line.sync()
    line.stream.uncork()
    return null
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
      this.#rows.push(row as R)
    } catch (error) {
      this.#failed = error
    }
  }

  /** Also one without rows has a shape: that of none. */
  handleCommandComplete(): void {
    this.#known?.set(this.name, this.#shape)
  }

  handleEmptyQuery(): void {}

  handleReadyForQuery(): void {
    if (this.#failed === undefined) this.callback(null, this.#rows)
    else this.callback(this.#failed)
  }

  handleError(error: unknown): void {
    this.callback(error)
  }
}
