/**
 * Counts what agents do of their own accord, so that a runaway is seen. Counted in this process and told to the others in batches, a
 * hundredth of a limit at a time: most people never have a row, and no turn waits for one. So a limit is kept to within a hundredth
 * of it for each process; limits up to 100 are asked of the database each time (`isExact`), and what waits is counted in the transaction that adds to it. What is said to use money is added up the same way; while a turn runs, as much as the last one took is reserved.
 */
import type { Spent } from '../agents/agent.ts'
import { newId } from '../core/ids.ts'
import type { SessionRef } from '../core/session.ts'
import {
  addToBudgets,
  type BudgetAdded,
  countFire,
  countPending,
  keepPending,
  tellOver,
} from '../features/limits/budget-rows.ts'
import { childOf, isFire, isSelfMade, type Lineage, lineageOf } from '../features/limits/lineage.ts'
import {
  dayOf,
  isExact,
  judgeFire,
  judgeSetting,
  type Limits,
  NOTHING_USED,
  noticeText,
  type Over,
  stepOf,
  type Used,
} from '../features/limits/rules.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Db } from '../store/db.ts'
import type { Finished } from './commit.ts'
import { IDLE, type Service, type Tick } from './service.ts'

/** People and agents that are remembered at once; the one that was quiet longest is forgotten first. */
const ENTRIES_MAX = 100_000
/** A limit above 100 is near from here on, in hundredths of it: more calls may be under way than one hundredth. */
const NEAR_STEPS = 10

export interface Whom {
  readonly bucket: number
  readonly userId: string
  readonly agentId: string
}

/** One person and agent on one day. */
interface Entry extends Whom {
  readonly day: string
  /** Of all processes, when it was last told. */
  fires: number
  calls: number
  usd: number
  /** Since then, here. */
  readonly fresh: { fires: number; calls: number; tokens: number; usd: number }
  /** What waited when it was last counted, and what was set and fired here since. */
  pending: number
  made: number
  fired: number
  /** Set by turns that are not committed yet. */
  open: number
  /** Of turns that run here. */
  readonly reserved: { calls: number; usd: number }
  /** What the last turn took. */
  last: { calls: number; usd: number }
  over: Over | null
  /** Where the person is to be told, and because of which trigger. */
  tell: { readonly session: SessionRef; readonly triggerId: string } | null
}

export class Budgets implements Service {
  readonly name = 'budgets'
  readonly limits: Limits
  readonly #db: Db
  readonly #entries = new Map<string, Entry>()
  readonly #changed = new Set<Entry>()
  /** What running turns have set. */
  readonly #open = new WeakMap<ClaimedTurn, { readonly entry: Entry; count: number }>()
  /** Enough was counted to be told. */
  onFree?: () => void
  /** A notice waits for its turn. */
  readonly #told: () => void

  constructor(db: Db, limits: Limits, told: () => void) {
    this.#db = db
    this.limits = limits
    this.#told = told
  }

  /** What keeps this fire from its agent. Null counts it. */
  async fire(claim: ClaimedTurn): Promise<Over | null> {
    if (!isFire({ type: claim.type, triggerId: claim.trigger_id }) || isNotice(claim)) return null
    const lineage = lineageOf(bornAs(claim))
    const counts = isSelfMade(lineage)
    // A fire that counts for nothing may still set what does.
    const asks = isExact(this.limits.pendingMax) || this.#entries.has(nameOf(whomOf(claim)))
    if (!counts && !this.#metered && !asks) return null
    const entry = this.#entry(whomOf(claim), claim.now)
    const known = judgeFire(lineage, usedBy(entry), this.limits)
    // Counted last, so that a retry after the database was away counts no fire twice.
    if (known === null) await this.#refresh(childOf(lineage), entry)
    const over = known ?? (counts ? await this.#fires(entry) : null)
    if (over !== null) this.#isOver(entry, over, claim)
    else if (counts && !isExact(this.limits.firesMax)) {
      entry.fresh.fires++
      entry.fired++
      if (entry.fresh.fires >= stepOf(this.limits.firesMax)) this.#change(entry)
    }
    return over
  }

  /** Counts a fire in the database where the limit is exact. */
  async #fires(entry: Entry): Promise<Over | null> {
    const { firesMax: max } = this.limits
    if (!isExact(max)) return null
    const fires = await countFire(this.#db, { ...entry, max })
    entry.fires = fires ?? max
    return fires === null ? { limit: 'fires', used: max, max } : null
  }

  /** Counts what waits where the limit is exact, or seems to be reached: what was cancelled since frees its place. */
  async #refresh(child: Lineage, entry: Entry): Promise<void> {
    const { pendingMax: max } = this.limits
    if (!isSelfMade(child) || !(isExact(max) || usedBy(entry).pending >= max)) return
    await this.#lookAtPending([entry])
  }

  /** The turn is over: what it has set is in the database, or was never written. */
  done(claim: ClaimedTurn): void {
    const open = this.#open.get(claim)
    if (open === undefined) return
    this.#open.delete(claim)
    open.entry.open -= open.count
    open.entry.made += open.count
  }

  /** What stands against setting one more trigger in the turn over this event. Null counts it. */
  set(claim: ClaimedTurn): Over | null {
    const child = childOfEvent(claim)
    if (!isSelfMade(child)) return judgeSetting(child, NOTHING_USED, this.limits, claim.now)
    const entry = this.#entry(whomOf(claim), claim.now)
    const over = judgeSetting(child, usedBy(entry), this.limits, claim.now)
    if (over !== null) this.#isOver(entry, over, claim)
    else {
      const open = this.#open.get(claim) ?? { entry, count: 0 }
      this.#open.set(claim, open)
      open.count++
      open.entry.open++
      this.#recountLater(entry)
    }
    return over
  }

  /** The same for callers outside of a turn, but for what waits: `keep` counts that. */
  judge(child: Lineage, whom: Whom, now: Date): Over | null {
    if (!isSelfMade(child)) return judgeSetting(child, NOTHING_USED, this.limits, now)
    const entry = this.#entry(whom, now)
    const over = judgeSetting(child, { ...usedBy(entry), pending: 0 }, this.limits, now)
    if (over !== null) return over
    entry.made++
    this.#recountLater(entry)
    return null
  }

  /** Whether so much waits that the transaction that adds to it has to count. */
  isNear(whom: Whom, now: Date): boolean {
    const { pendingMax: max } = this.limits
    if (isExact(max)) return true
    return usedBy(this.#entry(whom, now)).pending >= max - NEAR_STEPS * stepOf(max)
  }

  /** After a caller outside of a turn has set something, in the same transaction. Throws where more waits than may. */
  async keep(tx: Db, whom: Whom, now: Date): Promise<void> {
    if (this.isNear(whom, now)) await keepPending(tx, whom, now, this.limits.pendingMax)
  }

  #recountLater(entry: Entry): void {
    if (entry.made + entry.open >= stepOf(this.limits.pendingMax)) this.#change(entry)
  }

  /** A turn is about to run: it may take as much as the last one did. Answers how it is settled. */
  reserve(claim: ClaimedTurn): (spent: Spent | undefined, failed: boolean) => void {
    if (!this.#metered) return (spent) => this.#spend(claim, spent)
    const entry = this.#entry(whomOf(claim), claim.now)
    const { calls, usd } = entry.last
    entry.reserved.calls += calls
    entry.reserved.usd += usd
    let settled = false
    return (spent, failed) => {
      if (settled) return
      settled = true
      entry.reserved.calls -= calls
      entry.reserved.usd -= usd
      // Who failed has said nothing of what it took: as much as was reserved.
      this.#spend(claim, failed && calls + usd > 0 ? { tokens: 0, usd, calls } : spent)
    }
  }

  /** Tells the others what was counted here, and the people what was stopped. */
  async tick(): Promise<Tick> {
    const changed = [...this.#changed]
    this.#changed.clear()
    if (changed.length === 0) return IDLE
    try {
      const told = await this.#flush(changed)
      return { ...IDLE, did: told }
    } catch (error) {
      for (const entry of changed) this.#changed.add(entry)
      throw error
    }
  }

  /** What is left is told at the end, so that a restart forgets little. */
  async close(): Promise<void> {
    for (const entry of this.#entries.values())
      if (entry.fresh.fires + entry.fresh.calls > 0) this.#changed.add(entry)
    await this.tick()
  }

  get #metered(): boolean {
    return this.limits.callsMax !== null || this.limits.usdMax !== null
  }

  /** Answers how many people were told. */
  async #flush(changed: readonly Entry[]): Promise<number> {
    const added = changed.map(addedOf)
    const rows = await addToBudgets(this.#db, added)
    const of = new Map(rows.map((row) => [`${row.user_id} ${row.agent_id} ${row.day}`, row]))
    changed.forEach((entry, index) => {
      const row = of.get(`${entry.userId} ${entry.agentId} ${entry.day}`)
      const told = added[index]
      if (row === undefined || told === undefined) return
      entry.fires = row.fires
      entry.calls = row.calls
      entry.usd = row.usd
      entry.fresh.fires -= told.fires
      entry.fresh.calls -= told.calls
      entry.fresh.tokens -= told.tokens
      entry.fresh.usd -= told.usd
      if (row.told) entry.tell = null
    })
    await this.#lookAtPending(changed.filter(({ made }) => made >= stepOf(this.limits.pendingMax)))
    let told = 0
    for (const entry of changed) if (await this.#tell(entry)) told++
    return told
  }

  async #lookAtPending(entries: readonly Entry[]): Promise<void> {
    const before = entries.map(({ made, fired }) => ({ made, fired }))
    const rows = await countPending(this.#db, entries.map(rowOf), this.limits.pendingMax)
    const of = new Map(rows.map((row) => [`${row.user_id} ${row.agent_id}`, row.pending]))
    entries.forEach((entry, index) => {
      entry.pending = of.get(`${entry.userId} ${entry.agentId}`) ?? 0
      entry.made -= before[index]?.made ?? 0
      entry.fired -= before[index]?.fired ?? 0
    })
  }

  async #tell(entry: Entry): Promise<boolean> {
    const { tell, over, day, agentId } = entry
    if (tell === null || over === null) return false
    entry.tell = null
    const notice = { day, eventId: newId(), triggerId: tell.triggerId }
    const text = noticeText(over, agentId)
    const told = await tellOver(this.#db, tell.session, { ...notice, text })
    if (told) this.#told()
    return told
  }

  #spend(claim: ClaimedTurn, spent: Spent | undefined): void {
    if (spent === undefined) return
    const entry = this.#entry(whomOf(claim), claim.now)
    const { tokens, usd, calls = 1 } = spent
    entry.fresh.calls += calls
    entry.fresh.tokens += tokens
    entry.fresh.usd += usd
    entry.last = { calls, usd }
    // Where nothing is limited, the next look is soon enough.
    if (this.#metered) this.#change(entry)
    else this.#changed.add(entry)
  }

  #isOver(entry: Entry, over: Over, claim: ClaimedTurn): void {
    if (entry.over !== null) return
    entry.over = over
    entry.tell = { session: sessionOf(claim), triggerId: claim.trigger_id ?? claim.event_id }
    this.#change(entry)
  }

  #change(entry: Entry): void {
    this.#changed.add(entry)
    this.onFree?.()
  }

  #entry({ bucket, userId, agentId }: Whom, now: Date): Entry {
    const name = nameOf({ userId, agentId })
    const day = dayOf(now)
    const known = this.#entries.get(name)
    if (known !== undefined && known.day >= day) return known
    const entry = freshEntry({ bucket, userId, agentId }, day, known)
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    if (this.#entries.size > ENTRIES_MAX) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    return entry
  }
}

/** What waits and what is reserved goes on into the next day. */
function freshEntry(whom: Whom, day: string, before: Entry | undefined): Entry {
  return {
    ...whom,
    day,
    ...{ fires: 0, calls: 0, usd: 0 },
    fresh: { fires: 0, calls: 0, tokens: 0, usd: 0 },
    pending: before?.pending ?? 0,
    made: before?.made ?? 0,
    fired: before?.fired ?? 0,
    open: before?.open ?? 0,
    reserved: before?.reserved ?? { calls: 0, usd: 0 },
    last: before?.last ?? { calls: 0, usd: 0 },
    ...{ over: null, tell: null },
  }
}

function usedBy(entry: Entry): Used {
  const { fires, calls, usd, fresh, pending, made, fired, open, reserved } = entry
  return {
    fires: fires + fresh.fires,
    pending: Math.max(0, pending + made + open - fired),
    calls: calls + fresh.calls + reserved.calls,
    usd: usd + fresh.usd + reserved.usd,
  }
}

function addedOf({ bucket, userId, agentId, day, fresh, over }: Entry): BudgetAdded {
  const whom = rowOf({ bucket, userId, agentId })
  return { ...whom, day, ...fresh, over_limit: over?.limit ?? null }
}

/** Told without asking an agent: that a limit was reached must be, too. */
function isNotice({ type, trigger_id, scheduled_for }: ClaimedTurn): boolean {
  return type === 'work' && trigger_id !== null && scheduled_for === null
}

const nameOf = ({ userId, agentId }: Pick<Whom, 'userId' | 'agentId'>) => `${userId}:${agentId}`

const rowOf = ({ bucket, userId: user_id, agentId: agent_id }: Whom) => ({
  bucket,
  user_id,
  agent_id,
})

function whomOf({ bucket, user_id: userId, agent_id: agentId }: ClaimedTurn): Whom {
  return { bucket, userId, agentId }
}

export function sessionOf(claim: ClaimedTurn): SessionRef {
  return { ...whomOf(claim), key: claim.session_key, threadId: claim.thread_id }
}

function bornAs({ type, event_id: id, event_created_at: at, lineage }: ClaimedTurn) {
  return { type, id, at, lineage }
}

/** Of what the turn over this event sets. */
export function childOfEvent(claim: ClaimedTurn): Lineage {
  return childOf(lineageOf(bornAs(claim)))
}

/** A turn that is being committed, as far as it sets something. */
type Setting = { turn: Pick<Finished, 'claim' | 'result'>; now: Date }

/** After what they set is written. Throws where more waits than may; a shared commit is parted until the one to blame hears it. */
export async function keepPendingOf(
  tx: Db,
  settled: readonly Setting[],
  max: number | undefined,
): Promise<void> {
  if (max === undefined || !isExact(max)) return
  const whom = new Map(
    settled.filter(setsItself).map((each) => [nameOf(whomOf(each.turn.claim)), each]),
  )
  for (const [, each] of [...whom].sort(([a], [b]) => (a < b ? -1 : 1))) {
    await keepPending(tx, whomOf(each.turn.claim), each.now, max)
  }
}

function setsItself({ turn: { claim, result } }: Setting): boolean {
  const sets = result?.wishes.some(
    ({ type }) => type === 'trigger_command' || type === 'schedule_timer',
  )
  return sets === true && isSelfMade(childOfEvent(claim))
}
