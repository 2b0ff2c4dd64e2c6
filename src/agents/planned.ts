/** What is ahead for a turn's user and agent, and what came of what was: read-only looks that a turn may take. */

import { newestChecks, unaskedTurns } from '../features/ledger/occasion-rows.ts'
import { checkFacts, judgeOccasion, judgeSlot, type Outcome } from '../features/ledger/rules.ts'
import { type Ahead, aheadOf } from '../features/ledger/upcoming.ts'
import { standing } from '../features/ledger/upcoming-rows.ts'
import type { Verdict } from '../features/sessions/gate.ts'
import type { TurnInput } from './agent.ts'

/** Something that will wake this agent, or be done for its user. The id of a follow-up is the one it was set with. */
export interface Planned extends Ahead {
  readonly kind: 'follow_up' | 'alarm' | 'intent' | 'work'
}

/** The soonest first; what waits for something other than a time comes last. */
export async function planned({ db, session }: TurnInput): Promise<Planned[]> {
  const rows = await standing(db, session.userId, session)
  return rows
    .map((row): Planned => {
      const { kind, name: id } = row
      return kind === 'timer'
        ? { ...aheadOf(row), kind: 'follow_up', id }
        : { ...aheadOf(row), kind }
    })
    .toSorted(bySoonest)
}

function bySoonest(a: Planned, b: Planned): number {
  const at = ({ next_at }: Planned) => next_at?.getTime() ?? Number.MAX_SAFE_INTEGER
  return at(a) - at(b) || (a.id < b.id ? -1 : 1)
}

/** What came of one occasion to write unasked, or of the newest look at an intent. */
export interface Explained {
  readonly at: Date
  /** What woke the agent: `timer`, `alarm`, `intent`, `work`, … */
  readonly kind: string
  readonly title: string
  /** In the words of the ledger. */
  readonly outcome: Outcome
  /** The rule, the condition's state or the error. */
  readonly reason: string
  readonly verdict: Verdict | null
}

/** Occasions of this session, newest first, then how the enabled intents stand. */
export async function explained({ db, session }: TurnInput, limit: number): Promise<Explained[]> {
  const turns = (await unaskedTurns(db, session, limit)).map((turn): Explained => {
    const { outcome, reason, verdicts } = judgeOccasion(turn)
    const verdict = verdicts.find(({ allowed }) => allowed) ?? verdicts[0] ?? null
    const { type: kind, name, finished_at: at } = turn
    const why = reason?.error ?? reason?.rule ?? verdict?.rule ?? 'it said nothing'
    return { at, kind, title: name ?? kind, outcome, reason: why, verdict }
  })
  const checks = (await newestChecks(db, session)).map((check): Explained => {
    const { outcome, reason } = judgeSlot(checkFacts(check))
    const why = reason?.error ?? reason?.rule ?? ''
    return { at: check.at, kind: 'intent', title: check.name, outcome, reason: why, verdict: null }
  })
  return [...turns, ...checks]
}
