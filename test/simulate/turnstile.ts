/**
 * Where the processes of a simulation meet the world: every statement, every call of a receiver and every thought of an agent waits
 * here until it is let through, one at a time. What becomes of it is the plan's to say: it is done, it fails, or its process
 * dies before, within or after it. A process that died hears nothing any more: its promises stay open for ever.
 */

import { CommitUnknownError, type Db } from '../../src/store/db.ts'
import { ConnectionHealth, type Store } from '../../src/store/open.ts'
import { writtenBy } from './written.ts'

export const FATES = [
  'done',
  'fails_before',
  'fails_within',
  'fails_after',
  'dies_before',
  'dies_within',
  'dies_after',
] as const
export type Fate = (typeof FATES)[number]

/** Something a process waits for. */
export interface Call {
  readonly by: Mortal
  readonly what: string
  /** Resolves when it is over, whatever came of it. */
  go(fate: Fate): Promise<void>
}

/** A process as far as it can die. */
export interface Mortal {
  readonly name: string
  dead: boolean
  /** Nothing waits while it starts. */
  free: boolean
}

/** Asked before each statement of a transaction: whether it goes on. */
type Within = () => 'on' | 'fails' | 'dies'

export class Turnstile {
  readonly waiting: Call[] = []
  /** Told of every statement within a transaction. */
  heard: (statement: string) => void = () => undefined
  /** The tables that statements since the last look may have written to. */
  readonly touched = new Set<string>()
  /** Statements as they are run: a test may plant a fault. */
  rewritten: (text: string) => string = (text) => text

  /** What `work` does happens when it is let through. */
  pass<T>(by: Mortal, what: string, work: (within: Within) => Promise<T>): Promise<T> {
    if (by.free) return work(() => 'on')
    return new Promise<T>((resolve, reject) => {
      if (by.dead) return
      const tell = <V>(to: (value: V) => void, value: V) => {
        if (!by.dead) to(value)
      }
      const go = async (fate: Fate) => {
        this.waiting.splice(this.waiting.indexOf(call), 1)
        if (fate === 'dies_before') this.bury(by)
        else if (fate === 'fails_before') reject(brokenConnection())
        else
          try {
            const result = await work(stopper(fate))
            if (fate === 'dies_within' || fate === 'dies_after') this.bury(by)
            else if (fate === 'fails_after') tell(reject, unknownOutcome())
            else tell(resolve, result)
          } catch (error) {
            if (fate === 'dies_within') this.bury(by)
            tell(reject, error)
          }
      }
      const call: Call = { by, what, go }
      this.waiting.push(call)
    })
  }

  /** Nobody of its calls is let through any more. */
  bury(by: Mortal): void {
    by.dead = true
    const left = this.waiting.filter((call) => call.by !== by)
    this.waiting.splice(0, this.waiting.length, ...left)
  }

  /** The store as one process sees it. */
  storeOf(store: Store, by: Mortal): Store {
    const db = this.#gated(this.#faulty(store.db), by)
    return {
      ...{
        kind: store.kind,
        schema: store.schema,
        listen: null,
        join: null,
        pulse: new ConnectionHealth(),
      },
      ...{ db, engine: db, commits: db, migrations: db },
      pools: () => [],
      close: async () => undefined,
    }
  }

  #touch(text: string): void {
    for (const table of writtenBy(text)) this.touched.add(table)
  }

  #faulty(db: Db): Db {
    return {
      ...db,
      query: (text, values) => {
        this.#touch(text)
        return db.query(this.rewritten(text), values)
      },
      exec: (text) => {
        this.#touch(text)
        return db.exec(text)
      },
      tx: (work, options) => db.tx((tx) => work(this.#faulty(tx)), options),
    }
  }

  #gated(db: Db, by: Mortal): Db {
    return {
      ...db,
      query: (text, values) => this.pass(by, firstWords(text), () => db.query(text, values)),
      // Housekeeping that changes nothing anybody sees would take most of the time.
      exec: (text) =>
        text.startsWith('vacuum')
          ? Promise.resolve()
          : this.pass(by, firstWords(text), () => db.exec(text)),
      tx: (work, options) =>
        this.pass(by, 'transaction', (within) =>
          db.tx((tx) => interruptible(tx, within, work, this.heard), options),
        ),
    }
  }
}

/** The second statement is the one that does not come to be. */
function stopper(fate: Fate): Within {
  let left = 1
  return () => {
    if (left-- > 0) return 'on'
    if (fate === 'fails_within') return 'fails'
    return fate === 'dies_within' ? 'dies' : 'on'
  }
}

/** Rolled back where it is to stop. Of a process that dies there, nothing goes on. */
function interruptible<T>(
  tx: Db,
  within: Within,
  work: (tx: Db) => Promise<T>,
  heard: (statement: string) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const statement = <R>(text: string, run: () => Promise<R>): Promise<R> => {
      heard(firstWords(text))
      const what = within()
      if (what === 'on') return run()
      const error = brokenConnection()
      if (what === 'fails') return Promise.reject(error)
      reject(error)
      return new Promise(() => undefined)
    }
    const db: Db = {
      ...tx,
      query: (text, values) => statement(text, () => tx.query(text, values)),
      exec: (text) => statement(text, () => tx.exec(text)),
      tx: (nested) => nested(db),
    }
    work(db).then(resolve, reject)
  })
}

function firstWords(text: string): string {
  return text.slice(0, 120).replaceAll(/\s+/g, ' ').slice(0, 60)
}

/** As the driver says it; the code makes it an outage. */
export function brokenConnection(): Error {
  return Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
}

function unknownOutcome(): Error {
  return new CommitUnknownError('the connection broke while committing')
}
