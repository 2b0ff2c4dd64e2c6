/** Those who write down what they saw, each in a file of its own; lines are appended in one write. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export class Witness<T extends object> {
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  saw(line: T): void {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`)
  }

  all(): T[] {
    if (!existsSync(this.file)) return []
    const lines = readFileSync(this.file, 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
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
