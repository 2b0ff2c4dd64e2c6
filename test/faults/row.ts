/** One fault: what is broken, how, what must hold all the same, and the function that tries it. */
import type { RunningServer } from '../setup/server.ts'

/** What a row stands on while it runs. */
export interface Ground {
  /** A migrated database of its own on the server that all rows share. */
  database(): Promise<string>
  /** A server of its own, which it may kill. */
  server(settings?: readonly string[], directory?: string): Promise<RunningServer>
  /** A folder of its own for witnesses and data. */
  folder(): string
  /** Something worth telling of what was seen. */
  say(figure: string): void
}

export interface Row {
  readonly id: number
  readonly fault: string
  readonly inject: string
  readonly holds: string
  /** Part of `npm test`. */
  readonly short?: true
  readonly run: (ground: Ground) => Promise<void>
}

/** A row that a test of the suite holds: it is run by its name. */
export interface HeldRow extends Omit<Row, 'run' | 'short'> {
  readonly heldBy: readonly (readonly [file: string, test: string])[]
}
