/**
 * The conditions service: asks the app's own conditions for the intents that are due, each under a lease and a time limit. It
 * writes what was seen; the clock judges and records that as it does with the built-in conditions.
 */
import { errorText } from '../../../src/core/errors.ts'
import { hasUnstorableJson } from '../../../src/core/text.ts'
import type { Condition, Observed } from '../../../src/features/intents/own.ts'
import type { Meter } from '../../../src/kernel/meter.ts'
import { type Poll, PollService } from '../../../src/kernel/polls.ts'
import type { Db } from '../../../src/store/db.ts'
import { CONDITIONS } from '../../../src/store/due.ts'
import {
  claimConditions,
  type DueCondition,
  type Held,
  releaseConditions,
  settleCondition,
} from './rows.ts'

export interface ConditionsOptions {
  readonly conditions: ReadonlyMap<string, Condition>
  readonly db: Db
  readonly leaseMs: number
  readonly meter: Meter
  /** AUTONOMY_ENABLED: false asks nothing. */
  readonly enabled: boolean
  /** Tells the clock that something was seen. */
  readonly seen: () => void
  readonly timeLimitMs?: number
}

const CONCURRENCY = 16
/** A longer poll is aborted and counts as failed. */
const TIME_LIMIT_MS = 30_000
const DATA_MAX_BYTES = 16 * 1024
const ERROR_MAX = 500

export class ConditionsService extends PollService<DueCondition> {
  readonly tables = [CONDITIONS]
  readonly #options: ConditionsOptions

  constructor(options: ConditionsOptions) {
    const { db, leaseMs, meter, enabled, conditions, timeLimitMs = TIME_LIMIT_MS } = options
    super({
      name: 'conditions',
      table: CONDITIONS,
      db,
      leaseMs,
      meter,
      enabled: enabled && conditions.size > 0,
      concurrency: CONCURRENCY,
      limitMs: timeLimitMs,
      keyOf: ({ id }) => id,
    })
    this.#options = options
  }

  protected claim(limit: number, token: string) {
    const { db, leaseMs, conditions } = this.#options
    return claimConditions(db, [...conditions.keys()], limit, leaseMs, token)
  }

  protected release(polls: readonly Poll<DueCondition>[]): Promise<void> {
    return releaseConditions(this.#options.db, polls.map(heldOf))
  }

  protected async poll(poll: Poll<DueCondition>): Promise<void> {
    const { db, meter, seen } = this.#options
    const startedMs = performance.now()
    const observed = await this.#ask(poll)
    const outcome = 'error' in observed ? 'failed' : 'ok'
    meter.polled('condition', outcome, performance.now() - startedMs)
    if (await settleCondition(db, heldOf(poll), observed)) seen()
    else meter.leasesLost(1)
  }

  async #ask({ row, controller }: Poll<DueCondition>): Promise<Observed> {
    const { conditions } = this.#options
    const { type = '', params = {} } = JSON.parse(row.trigger_condition) as {
      type?: string
      params?: Readonly<Record<string, unknown>>
    }
    const condition = conditions.get(type)
    if (condition === undefined) return { error: `there is no condition ${type} here` }
    const { signal } = controller
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    try {
      // One that ignores its signal is not waited for.
      const answer = await Promise.race([
        (async () => condition({ params, signal, userId: row.user_id }))(),
        aborted,
      ])
      return readAnswer(answer)
    } catch (error) {
      return { error: errorText(error, ERROR_MAX) }
    }
  }
}

const heldOf = ({ bucket, key, token }: Poll<DueCondition>): Held => ({ bucket, id: key, token })

function readAnswer(answer: unknown): Observed {
  if (typeof answer === 'boolean') return { met: answer }
  const { met, data } = (answer ?? {}) as { met?: unknown; data?: unknown }
  if (typeof met !== 'boolean')
    return { error: 'the condition must answer true, false or { met, data }' }
  if (data === undefined) return { met }
  const text = JSON.stringify(data) as string | undefined
  if (text === undefined || hasUnstorableJson(text) || Buffer.byteLength(text) > DATA_MAX_BYTES)
    return { error: `the data of the condition must be JSON of at most ${DATA_MAX_BYTES} bytes` }
  return { met, data }
}
