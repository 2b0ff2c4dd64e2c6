/**
 * What keeps a runaway from going on: an agent whose fires set more fires, or a flood from outside. Not what keeps an agent from
 * nagging; that is the gate. So the limits are wide, and those that count fires ask only of what agents set themselves: a promise
 * that a person asked for is not dropped because an agent ran wild beside it. Pure.
 */
import { isSelfMade, type Lineage, type Origin } from './lineage.ts'

const DAY_MS = 86_400_000

export const LIMITS = ['depth', 'pending', 'fires', 'calls', 'usd', 'origin'] as const
export type Limit = (typeof LIMITS)[number]

/** For each person and agent. */
export interface Limits {
  /** How many fires deep a chain may grow for each day since its root, so that a slow one never ends. */
  readonly depthMax: number
  /** Triggers that agents set themselves and that wait. */
  readonly pendingMax: number
  /** Fires a day of what agents set themselves. */
  readonly firesMax: number
  /** Model calls a day, as agents report them; null: not limited. */
  readonly callsMax: number | null
  /** Money a day, as agents report it; null: not limited. */
  readonly usdMax: number | null
  /** Content from outside of these kinds sets nothing. */
  readonly refusedOrigins: readonly Origin[]
}

/** An agent that sets itself once every ten seconds never meets the first three; one whose fires each set two more does within seconds. */
export const DEFAULT_LIMITS: Limits = {
  depthMax: 10_000,
  pendingMax: 10_000,
  firesMax: 10_000,
  callsMax: null,
  usdMax: null,
  refusedOrigins: [],
}

/** The limit that was reached, with its numbers. */
export interface Over {
  readonly limit: Limit
  readonly used: number
  readonly max: number
  readonly origin?: Origin
}

/** What a person and agent have used up on a day, as far as it is known. */
export interface Used {
  readonly fires: number
  readonly pending: number
  readonly calls: number
  readonly usd: number
}

export const NOTHING_USED: Used = { fires: 0, pending: 0, calls: 0, usd: 0 }

/** The day that is counted: in UTC, for everybody alike. */
export function dayOf(now: Date): string {
  return now.toISOString().slice(0, 10)
}

/** When the day is over. */
export function dayEnds(now: Date): Date {
  return new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS)
}

/** How deep a chain may be by now. */
export function depthAllowed({ root }: Lineage, { depthMax }: Limits, now: Date): number {
  const days = Math.floor((now.getTime() - root.at.getTime()) / DAY_MS)
  return depthMax * (1 + Math.max(0, days))
}

/** What stands against setting a trigger of this lineage. */
export function judgeSetting(child: Lineage, used: Used, limits: Limits, now: Date): Over | null {
  const { depth, origin } = child
  if (origin !== null && limits.refusedOrigins.includes(origin))
    return { limit: 'origin', used: 0, max: 0, origin }
  if (!isSelfMade(child)) return null
  const deepest = depthAllowed(child, limits, now)
  if (depth > deepest) return { limit: 'depth', used: depth, max: deepest }
  if (used.fires >= limits.firesMax)
    return { limit: 'fires', used: used.fires, max: limits.firesMax }
  if (used.pending >= limits.pendingMax)
    return { limit: 'pending', used: used.pending, max: limits.pendingMax }
  return judgeMoney(used, limits)
}

/** What stands against a fire of this lineage. Calls and money are asked of every fire, the number of fires of what agents set. */
export function judgeFire(lineage: Lineage, used: Used, limits: Limits): Over | null {
  if (isSelfMade(lineage) && used.fires >= limits.firesMax)
    return { limit: 'fires', used: used.fires, max: limits.firesMax }
  return judgeMoney(used, limits)
}

function judgeMoney({ calls, usd }: Used, { callsMax, usdMax }: Limits): Over | null {
  if (callsMax !== null && calls >= callsMax) return { limit: 'calls', used: calls, max: callsMax }
  return usdMax !== null && usd >= usdMax ? { limit: 'usd', used: usd, max: usdMax } : null
}

/** A limit up to here is exact, whatever it costs to ask; a higher one is kept to within a hundredth of it. */
const EXACT_MAX = 100

export function isExact(max: number): boolean {
  return max <= EXACT_MAX
}

/** How much is counted in a process before it is told to the others: a hundredth of the limit. */
export function stepOf(max: number): number {
  return Math.max(1, Math.floor(max / 100))
}

const WORDS: Readonly<Record<Limit, (over: Over) => string>> = {
  depth: ({ used, max }) =>
    `it would be the fire number ${used} in a row that a fire has set, and ${max} may follow one another by now`,
  pending: ({ used }) => `${used} triggers that agents set themselves wait already`,
  fires: ({ used }) => `what agents set themselves has fired ${used} times today`,
  calls: ({ used, max }) => `${used} model calls were made today, of ${max}`,
  usd: ({ used, max }) => `${usdText(used)} were spent today, of ${usdText(max)}`,
  origin: ({ origin }) => `content from outside (${origin}) may set nothing here`,
}

/** Why, in a clause. */
export function overWords(over: Over): string {
  return WORDS[over.limit](over)
}

/** An error text that a language model can act on. */
export function refusedText(over: Over, whom: { userId: string; agentId: string }): string {
  const who = `for the agent ${whom.agentId} and the person ${whom.userId}`
  return `over_budget: ${overWords(over)} ${who}. Do not set it again; ${adviceFor(over)}`
}

function adviceFor({ limit }: Over): string {
  if (limit === 'origin') return 'ask the person whether they want it'
  if (limit === 'depth') return 'one that recurs is set once'
  return limit === 'pending' ? 'cancel some of them first' : 'a new day begins at midnight UTC'
}

/** What the person is told, once. */
export function noticeText(over: Over, agentId: string): string {
  return `I stopped ${agentId} from going on by itself: ${overWords(over)}. What it set of its own accord is not run until ${
    over.limit === 'depth' || over.limit === 'origin' || over.limit === 'pending'
      ? 'it is set again by you'
      : 'midnight UTC'
  }; what you asked for is kept.`
}

function usdText(usd: number): string {
  return `$${usd.toFixed(2)}`
}
