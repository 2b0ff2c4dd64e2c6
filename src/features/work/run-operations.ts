/** What a run of work needs before it may be queued, and the queueing itself. */

import { z } from 'zod'
import type { Context } from '../../api/contract.ts'
import { schemaOf, visibleOf } from '../../core/columns.ts'
import { Refusal } from '../../core/errors.ts'
import { fromNow } from '../../core/span.ts'
import { quoted, sentences, timesText } from '../../core/words.ts'
import type { Db } from '../../store/db.ts'
import { asPerson } from '../../store/owned.ts'
import type { WorkRules } from './draft.ts'
import { OUTPUT, WORK } from './fields.ts'
import { liveOutputs, type OutputRow, outputById, runNow, type WorkRow } from './rows.ts'
import { frequencyWords, nextRuns } from './rules.ts'
import { queueRuns } from './slot-rows.ts'

export const workSchema = schemaOf(WORK).extend({
  canonical: z.string(),
  description: z.string(),
  next_runs: z.array(z.iso.datetime()),
  words: z.string(),
  notes: z.array(z.string()).optional(),
})

export function workView(row: WorkRow, notes: readonly string[] = []) {
  const next = nextRuns(row, row.now)
  return {
    ...visibleOf(WORK, row),
    canonical: row.frequency_cron ?? 'once',
    description: frequencyWords(row),
    next_runs: next,
    words: workWords(row, '', next),
    notes: notes.length > 0 ? notes : undefined,
  }
}

/** `done` is what was done to it just now: "was created and". */
export function workWords(row: WorkRow, done = '', next = nextRuns(row, row.now)): string {
  const rhythm = frequencyWords(row)
  const isPaused = !row.is_active && row.frequency !== 'once'
  const times = row.is_active ? timesText(next, row.timezone, row.now) : ''
  return sentences(
    `Work ${quoted(row.task)}`,
    done,
    isPaused ? `is paused; its rhythm is ${rhythm}.` : `runs ${rhythm}.`,
    times !== '' && `Next run: ${times}.`,
    `Its id is ${row.id}.`,
  )
}

export function outputWords(output: OutputRow, now: Date): string {
  const { run_number, status, title, error_message: error } = output
  const at = output.completed_at ?? output.started_at
  const when = at === null ? '' : ` (${fromNow(at.getTime(), now.getTime())})`
  return sentences(
    `Run ${run_number} is ${status}${title === null ? '' : `: ${quoted(title)}`}${when}.`,
    error !== null && `Error: ${quoted(error, 200)}.`,
  )
}

export const outputSchema = schemaOf(OUTPUT)

export function outputView(row: OutputRow) {
  return visibleOf(OUTPUT, row)
}

export function workRules({ kernel, actor }: Context, userId: string): WorkRules {
  const whom = `takes a session key of this user, ${userId}:agent:thread`
  const refuses = (agentId: string) =>
    kernel.agents.knows(agentId) && (actor.agentId ?? agentId) === agentId
      ? null
      : `there is no agent ${agentId} here`
  const { types, missing, refuses: refusesParameters } = kernel.work
  return { types, missing, refusesParameters, userId, told: { whom, refuses } }
}

/** One run now, besides the schedule: output and event in the caller's transaction. */
export async function queueRun(
  { traceparent = null, actor }: Context,
  tx: Db,
  work: WorkRow,
): Promise<OutputRow> {
  const run = runNow(work, traceparent)
  // It runs in the session of its executor, which is no session of the agent that asks.
  const queued = await asPerson(tx, actor.agentId, () => queueRuns(tx, [run]))
  // Deleted between our look and our lock. Refusing undoes the number its session has given.
  if (!queued.has(run.eventId)) throw new Refusal('not_found', `there is no work ${work.id}`)
  const output = await outputById(tx, work.bucket, run.outputId)
  if (output === null) throw new Error('the output was not written')
  return output
}

const LOOK_MS = 100

interface Waiter {
  readonly bucket: number
  readonly id: string
  readonly untilMs: number
  readonly done: () => void
}

export class OutputWaits {
  readonly #db: Db
  readonly #onError: (error: unknown) => void
  readonly #waiting = new Set<Waiter>()
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(db: Db, onError: (error: unknown) => void) {
    this.#db = db
    this.#onError = onError
  }

  /** Resolves when the output has ended or is gone, the time is up, nobody waits any more, or we stop. */
  ended(
    output: { readonly bucket: number; readonly id: string },
    ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    if (ms <= 0 || signal.aborted || this.#closed) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        signal.removeEventListener('abort', done)
        this.#waiting.delete(waiter)
        resolve()
      }
      const waiter = { ...output, untilMs: performance.now() + ms, done }
      this.#waiting.add(waiter)
      signal.addEventListener('abort', done, { once: true })
      this.#plan(0)
    })
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const waiter of this.#waiting) waiter.done()
  }

  #plan(ms: number): void {
    if (this.#closed || this.#timer !== null || this.#waiting.size === 0) return
    this.#timer = setTimeout(() => {
      this.#look()
        .catch(this.#onError)
        .finally(() => {
          this.#timer = null
          this.#plan(LOOK_MS)
        })
    }, ms)
  }

  async #look(): Promise<void> {
    const asked = [...this.#waiting]
    const live = await liveOutputs(this.#db, asked)
    const now = performance.now()
    for (const waiter of asked) {
      if (!live.has(waiter.id) || now >= waiter.untilMs) waiter.done()
    }
  }
}
