/** Records what a process saw, one JSON object per line. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export class Witness<T extends object> {
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  saw(line: T): void {
    // The line break comes first: SIGKILL can cut a write at a page boundary, and the next line must not join the torn one.
    appendFileSync(this.file, `\n${JSON.stringify(line)}`)
  }

  all(): T[] {
    if (!existsSync(this.file)) return []
    const lines = readFileSync(this.file, 'utf8').split('\n')
    return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as T)
  }
}

/** By a caller: the server said that this message is written, under this number. */
export interface Acknowledged {
  readonly id: string
  readonly key: string
  readonly seq: number
}

/** By a receiver of wakes: this call came. */
export interface Received {
  readonly delivery: string
  readonly alarm: string
  readonly slot: string
  readonly answer: number
}

/** By an agent: it was entered, or came to its end. */
export interface Mark {
  readonly what: 'start' | 'end'
  readonly key: string
  readonly seq: number
  readonly attempt: number
  readonly pid: number
}

/** By a reader of a socket: this message came. */
export interface Heard {
  readonly key: string
  readonly id: string
  readonly reader: string
}
