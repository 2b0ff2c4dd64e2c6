/**
 * Reads of many requests in one round trip. What is asked in one tick leaves together: whose rows are read is set before the first statement
 * of each owner, and ends with the transaction that PostgreSQL makes of one round trip. That transaction is read-only, so nothing is
 * lost when another's read fails: the failure is told to who asked, and those behind it are asked again.
 */
import type pg from 'pg'
import { isUnavailable, sqlState } from './db.ts'
import { type Bound, Query } from './query.ts'

/** More would keep the first waiting for the last. */
const BATCH_MAX = 64
/** Round trips at once: a slow read holds up those that left with it, and no others. */
const LANES = 4

/** Whose rows a statement sees; `agentId` is empty for all of the person's agents. */
export interface Owner {
  readonly userId: string
  readonly agentId: string
}

interface Read {
  readonly text: string
  readonly values: readonly unknown[]
  /** Null: everybody's rows. */
  readonly owner: Owner | null
  readonly resolve: (rows: object[]) => void
  readonly reject: (error: unknown) => void
}

export interface PipelineOptions {
  /** Sees the rows of one owner alone. */
  readonly ownerRole: string
  /** Runs `work` with a connection. */
  connected(work: (client: pg.PoolClient) => Promise<void>): Promise<void>
  /** What statements take that want to know the time; rarely asks for it. */
  instant(client: pg.PoolClient): string | Promise<string>
  bound(read: Pick<Read, 'text' | 'values' | 'owner'>, instant: string): Bound
  readonly parserOf: (oid: number) => (text: string) => unknown
}

const READ_ONLY = `select set_config('transaction_read_only', 'on', true)`
const EVERYBODY: Bound = { name: 'w_read', text: READ_ONLY, values: [] }
const ownedText = (role: string) =>
  `${READ_ONLY}, set_config('role', '${role}', true), set_config('wakeful.owner', $1, true), set_config('wakeful.agent', $2, true)`

export class Pipeline {
  readonly #options: PipelineOptions
  readonly #owned: string
  #waiting: Read[] = []
  #running = 0

  constructor(options: PipelineOptions) {
    this.#options = options
    this.#owned = ownedText(options.ownerRole)
  }

  query<R extends object>(
    text: string,
    values: readonly unknown[],
    owner: Owner | null,
  ): Promise<R[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, values, owner, resolve: resolve as Read['resolve'], reject })
      if (this.#waiting.length === 1) this.#start()
    })
  }

  /** What else is asked in this tick goes along. */
  #start(): void {
    if (this.#running >= LANES) return
    this.#running++
    setImmediate(() => void this.#lane())
  }

  async #lane(): Promise<void> {
    while (this.#waiting.length > 0) {
      const reads = this.#waiting.splice(0, BATCH_MAX)
      if (this.#waiting.length > 0) this.#start()
      try {
        await this.#options.connected((client) => this.#ask(client, reads))
      } catch (error) {
        // Nothing happens to those that were answered; some are asked again.
        for (const read of reads) if (!this.#waiting.includes(read)) read.reject(error)
      }
    }
    this.#running--
  }

  async #ask(client: pg.PoolClient, reads: readonly Read[]): Promise<void> {
    const { instant: instantOf, bound, parserOf } = this.#options
    const asked = instantOf(client)
    const instant = typeof asked === 'string' ? asked : await asked
    const ordered = reads.toSorted((a, b) => byOwner(a.owner, b.owner))
    const statements: Bound[] = []
    const readOf: (Read | null)[] = []
    let owner: Owner | null | undefined
    for (const read of ordered) {
      if (owner === undefined || byOwner(owner, read.owner) !== 0) {
        owner = read.owner
        readOf.push(null)
        statements.push(this.#scopeOf(owner))
      }
      readOf.push(read)
      statements.push(bound(read, instant))
    }
    const { query, error } = await new Promise<{ query: Query<object>; error: unknown }>((done) => {
      const query = new Query<object>(statements, parserOf, (error) => done({ query, error }))
      client.query(query)
    })
    const { rows, unread } = query
    for (const [at, answer] of rows.entries()) {
      if (unread.has(at)) readOf[at]?.reject(unread.get(at))
      else readOf[at]?.resolve(answer)
    }
    if (error !== null) this.#failed(error, readOf.slice(rows.length))
  }

  #scopeOf(owner: Owner | null): Bound {
    if (owner === null) return EVERYBODY
    return { name: 'w_owned', text: this.#owned, values: [owner.userId, owner.agentId] }
  }

  /** The first of them failed, and those behind it were not asked. */
  #failed(error: unknown, [culprit, ...others]: readonly (Read | null)[]): void {
    // The connection broke, or an owner could not be set.
    if (sqlState(error) === undefined || culprit === null || culprit === undefined) throw error
    culprit.reject(error)
    this.#waiting.unshift(...others.filter((read) => read !== null))
    if (isUnavailable(error)) throw error
  }
}

/** Everybody's first: the role of an owner stays until the end. */
function byOwner(a: Owner | null, b: Owner | null): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? -1 : 1
  if (a.userId !== b.userId) return a.userId < b.userId ? -1 : 1
  return a.agentId === b.agentId ? 0 : a.agentId < b.agentId ? -1 : 1
}
