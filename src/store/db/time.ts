/**
 * The database's time of day without asking for it each time: the process keeps how far its own steady clock is away, and
 * asks again after a second, so that a database whose clock was set is followed. For answers that nothing is written with; what is
 * written takes the time of its own transaction.
 */
import type { Db } from './db.ts'
import { databaseNow } from './due.ts'

const TRUST_MS = 1_000

interface Known {
  /** The database's time minus `performance.now()`. */
  readonly offsetMs: number
  readonly untilMs: number
}

const known = new WeakMap<Db, Known>()
const asking = new WeakMap<Db, Promise<Known>>()

/** Milliseconds since 1970, right to half a round trip. `db` is what many requests share. */
export async function databaseTime(db: Db): Promise<number> {
  const dictated = db.now()
  if (dictated !== null) return dictated.getTime()
  const last = known.get(db)
  const trusted = last !== undefined && performance.now() < last.untilMs
  const { offsetMs } = trusted ? last : await askOnce(db)
  return performance.now() + offsetMs
}

/** Many that come together ask once. */
function askOnce(db: Db): Promise<Known> {
  const underWay = asking.get(db)
  if (underWay !== undefined) return underWay
  const answer = ask(db).finally(() => asking.delete(db))
  asking.set(db, answer)
  return answer
}

async function ask(db: Db): Promise<Known> {
  const before = performance.now()
  const now = await databaseNow(db)
  const after = performance.now()
  const found = { offsetMs: now.getTime() - (before + after) / 2, untilMs: after + TRUST_MS }
  known.set(db, found)
  return found
}
