/**
 * The commit of finished turns. Turns that are ready together share one transaction: each is decided by what its claim brought,
 * and everything is written at once, if that still holds. Where it does not, the heads we still hold are locked
 * and each turn is decided by what the lock showed. A turn whose lease was lost writes nothing.
 */
import type { TurnResult } from '../agents/agent.ts'
import { lineageText } from '../features/limits/lineage.ts'
import { defer, type NewDeferred } from '../features/people/deferred-rows.ts'
import { countUnasked, lockPeople } from '../features/people/rows.ts'
import { heldText, heldVerdict } from '../features/people/speak.ts'
import { sessionMetadata } from '../features/sessions/checkpoint.ts'
import {
  type CheckpointWrite,
  writeBlobs,
  writePendingWrites,
} from '../features/sessions/checkpoint-rows.ts'
import type { Verdict } from '../features/sessions/gate.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import {
  afterFailure,
  type Decision,
  decide,
  type Failure,
  failureAnswer,
  heldDecision,
  type Policy,
} from '../features/sessions/turn.ts'
import {
  HeadMovedError,
  type InFlight,
  lockHeads,
  type SessionState,
  type TurnWrite,
  writeTurns,
} from '../features/sessions/turn-rows.ts'
import type { Db } from '../store/db.ts'
import { commitTx, databaseNow, releaseClaims, SESSIONS } from '../store/due.ts'
import { childOfEvent, keepPendingOf } from './budgets.ts'
import { asked, outcomesOf, type Settled } from './outcomes.ts'
import {
  type Counted,
  countSpoken,
  deferredOf,
  hasUnpromptedMessage,
  inTurn,
  needsPersonLock,
  type People,
  type Speaking,
  speak,
} from './preferences.ts'
import type { Trigger } from './trigger.ts'

export interface Finished extends Speaking {
  readonly token: string
  /** Null also where it was held back, without a failure. */
  readonly result: TurnResult | null
  readonly failure: Failure | null
  /** The turn's trace: what it sets belongs to it. */
  readonly traceparent?: string | null
  /** Where its timer and session were found; absent where its event exists. */
  readonly inFlight?: InFlight | null
}

export interface Committed {
  readonly status: TurnWrite['status'] | 'lost'
  readonly decision: Decision | null
  /** Events wait behind this one. */
  readonly behind: boolean
  readonly retryMs: number | null
}

const LOST: Committed = { status: 'lost', decision: null, behind: false, retryMs: null }

export type Triggers = ReadonlyMap<string, Trigger>

export interface CommitOptions {
  readonly policy: Policy
  readonly triggers: Triggers
}

export async function commitTurns(
  db: Db,
  finished: readonly Finished[],
  options: CommitOptions,
): Promise<Committed[]> {
  const late = finished.filter(isLate)
  if (late.length === 0 || late.length === finished.length)
    return commitAlike(db, finished, options)
  // Apart: each of the two statements locks its sessions in the order of their keys.
  const rest = finished.filter((turn) => !isLate(turn))
  const answers = new Map<Finished, Committed>()
  for (const turns of [late, rest]) {
    const committed = await commitAlike(db, turns, options)
    for (const [place, turn] of turns.entries()) answers.set(turn, committed[place] ?? LOST)
  }
  return finished.map((turn) => answers.get(turn) ?? LOST)
}

const isLate = ({ inFlight }: Finished) => inFlight !== undefined && inFlight !== null

async function commitAlike(
  db: Db,
  finished: readonly Finished[],
  { policy, triggers }: CommitOptions,
): Promise<Committed[]> {
  const commit = (
    headsOf: (tx: Db) => Promise<Heads>,
    peopleOf: (tx: Db) => Promise<People> | People | null,
  ) =>
    commitTx(db, async (tx) => {
      const heads = await headsOf(tx)
      const people = await peopleOf(tx)
      const now = await databaseNow(tx)
      const counts: Counted = new Map()
      const settled = new Map<Finished, Settled>()
      for (const turn of people === null ? finished : finished.toSorted(inTurn)) {
        const head = heads.get(turn)
        if (head !== undefined)
          settled.set(turn, settle({ turn, head, now, people, counts }, policy, triggers))
      }
      const writes = [...settled.values()]
      const behind = writes.length > 0 ? await write(tx, writes, policy, triggers) : NOBODY
      await countUnasked(tx, counts)
      return finished.map((turn) => {
        const each = settled.get(turn)
        return each === undefined ? LOST : answerOf(each, behind)
      })
    })
  const locked = () =>
    commit(
      (tx) => lockedStates(tx, finished),
      (tx) => peopleSpokenTo(tx, finished, policy),
    )
  if (finished.some((turn) => needsPersonLock(turn) || (isLate(turn) && turn.failure !== null)))
    return locked()
  try {
    return await commit(
      async () => CLAIMED,
      () => null,
    )
  } catch (error) {
    if (!(error instanceof HeadMovedError)) throw error
    return locked()
  }
}

/** After the sessions, in the order of their keys: everybody to whom something is said unasked, as far as they have preferences. */
function peopleSpokenTo(tx: Db, finished: readonly Finished[], policy: Policy): Promise<People> {
  const spokenTo = finished.filter((turn) => needsPersonLock(turn) || hasUnpromptedMessage(turn))
  const users = spokenTo.map(({ claim }) => claim.user_id)
  return lockPeople(tx, users, policy.timezone ?? 'UTC')
}

/** What a claim brought; or what a lock shows, with what is in flight still. */
type Head = SessionState & { readonly inFlight?: InFlight | null }
type Heads = Pick<ReadonlyMap<Finished, Head>, 'get'>

const CLAIMED: Heads = { get: ({ claim }) => claim }
const NOBODY: ReadonlySet<string> = new Set()

/**
 * The heads of the turns that still hold theirs. A session may be among them twice: its lease ran out, this
 * very process took it up again, and both attempts end together. Heads are told by session, not by token,
 * so no look-up asks for one session twice: else the lost attempt would pass by the living one's token.
 */
async function lockedStates(tx: Db, finished: readonly Finished[]): Promise<Map<Finished, Head>> {
  const held = new Map<Finished, Head>()
  const cancelled: Finished[] = []
  for (let rest = finished; rest.length > 0; ) {
    const round = new Map<string, Finished>()
    const again: Finished[] = []
    for (const turn of rest) {
      if (round.has(turn.claim.session_key)) again.push(turn)
      else round.set(turn.claim.session_key, turn)
    }
    const asked = [...round].map(([key, { claim, token }]) => ({
      bucket: claim.bucket,
      key,
      token,
    }))
    for (const [key, { head, in_flight, place, ...state }] of await lockHeads(tx, asked)) {
      const turn = round.get(key)
      if (turn === undefined) continue
      // Somebody may have made its event since, or cancelled its timer.
      const late = in_flight === turn.claim.event_id
      if (late && place === null) cancelled.push(turn)
      else held.set(turn, { ...state, inFlight: late && place !== null ? { place, head } : null })
    }
    rest = again
  }
  const left = cancelled.map(({ claim, token }) => ({
    ...{ bucket: claim.bucket, key: claim.session_key, token },
  }))
  if (left.length > 0) await releaseClaims(tx, SESSIONS, left)
  return held
}

interface Held {
  readonly turn: Finished
  readonly head: Head
  /** The database's time of this transaction. */
  readonly now: Date
  /** Null: not looked at. */
  readonly people: People | null
  /** What was said unasked to whom, after this transaction. */
  readonly counts: Counted
}

function answerOf({ row }: Settled, behind: ReadonlySet<string>): Committed {
  const { status, decision, retryMs, key } = row
  return { status, decision, retryMs, behind: behind.has(key) }
}

function settle(held: Held, policy: Policy, triggers: Triggers): Settled {
  const { turn, head, now } = held
  const { claim, failure } = turn
  const retryMs = failure === null ? null : retryOf(turn, failure, triggers)
  const { decision, deferred } = decided(held, policy, retryMs)
  const result = deferred.length > 0 ? null : turn.result
  const status = failure === null ? 'committed' : retryMs === null ? 'failed' : 'retrying'
  const row: TurnWrite = {
    bucket: claim.bucket,
    key: claim.session_key,
    token: turn.token,
    eventSeq: claim.seq,
    eventId: claim.event_id,
    attempt: claim.attempt + claim.deaths + 1,
    status,
    startedAt: claim.now,
    error: failure?.text ?? null,
    cause: failure?.cause ?? null,
    checkpointId: result?.checkpointId ?? null,
    retryMs,
    traceparent: turn.traceparent ?? null,
    lineage: decision.timers.length > 0 ? lineageText(childOfEvent(claim)) : null,
    pushedTo: head.pushed_to,
    // Whether a later message has overtaken the timers that it sets.
    lastUserSeq: decision.timers.length > 0 ? head.last_user_seq : null,
    userId: claim.user_id,
    assumesNoPreferences: held.people === null && hasUnpromptedMessage(turn),
    decision,
    inFlight: (head === claim ? turn.inFlight : head.inFlight) ?? null,
  }
  return { turn: { ...turn, result }, now, row, deferred }
}

/** What the turn asked for, as far as gate and preferences let it. */
function decided(
  { turn, head, now, people, counts }: Held,
  policy: Policy,
  retryMs: number | null,
): { decision: Decision; deferred: readonly NewDeferred[] } {
  const { claim, failure } = turn
  const counters = {
    consecutive: head.consecutive_autonomous_msgs,
    lastAt: head.last_autonomous_at,
  }
  if (failure !== null && retryMs !== null)
    return { decision: { counters, ...NOTHING }, deferred: [] }
  const facts = {
    sessionKey: claim.session_key,
    eventSeq: claim.seq,
    eventType: claim.type,
    triggerId: claim.trigger_id ?? turn.slots?.[0]?.trigger_id ?? null,
    failures: claim.attempt,
    verdicts: mergedVerdict(claim),
  }
  if (failure !== null) {
    const said = failureAnswer(claim.type, failure, policy)
    const heads = { counters, lastUserSeq: head.last_user_seq, now }
    return { decision: decide(facts, said, heads, policy), deferred: [] }
  }
  const { wishes, held } = speak(turn, people ?? NO_PEOPLE, now)
  if (wishes === null) {
    const decision = heldDecision(counters, heldVerdict(held), heldText(held))
    return { decision, deferred: deferredOf(turn, held, turn.traceparent ?? null) }
  }
  const made = decide(facts, wishes, { counters, lastUserSeq: head.last_user_seq, now }, policy)
  const messages = made.effects.filter(({ type }) => type === 'send_message').length
  if (people !== null && countSpoken(turn, messages, people, now)) {
    const unasked = people.get(claim.user_id)?.unasked
    if (unasked !== undefined) counts.set(claim.user_id, unasked)
  }
  if (held === null) return { decision: made, deferred: [] }
  const note = { level: 'info', rule: held.rule, text: heldText(held) } as const
  const verdicts = [...made.verdicts, heldVerdict(held)]
  return { decision: { ...made, verdicts, notes: [...made.notes, note] }, deferred: [] }
}

function mergedVerdict({ merged = [] }: ClaimedTurn): Verdict[] {
  return merged.length === 0 ? [] : [{ allowed: true, rule: 'merged', count: merged.length }]
}

const NO_PEOPLE: People = new Map()
const NOTHING = { effects: [], timers: [], cancelledTimers: [], verdicts: [], notes: [] } as const

/** A trigger that settles its own slots takes the failure upon itself: its session goes on at once. */
function retryOf({ claim, slots }: Finished, failure: Failure, triggers: Triggers): number | null {
  const settles = triggers.get(claim.type)?.settle !== undefined
  // Of what was released, nobody but its session has the slot in hand, unless its trigger held it on.
  const own = slots === undefined || slots.some(({ held }) => held)
  return settles && own ? null : afterFailure(claim.attempt, failure).retryMs
}

/** Answers with the sessions in which more waits. */
async function write(
  tx: Db,
  settled: readonly Settled[],
  policy: Policy,
  triggers: Triggers,
): Promise<ReadonlySet<string>> {
  const behind = await writeTurns(
    tx,
    settled.map((each) => each.row),
    settled.flatMap(points),
  )
  await writeBlobs(
    tx,
    settled.flatMap(({ turn, row }) =>
      (turn.result?.blobs ?? []).map((blob) => ({ ...blob, bucket: row.bucket })),
    ),
  )
  await writePendingWrites(
    tx,
    settled.flatMap(({ turn, row }) =>
      (turn.result?.writes ?? []).map((each) => ({ ...each, bucket: row.bucket })),
    ),
  )
  for (const trigger of triggers.values()) {
    if (trigger.settle === undefined) continue
    const outcomes = settled.flatMap((each) => outcomesOf(each, trigger.type))
    if (outcomes.length > 0) await trigger.settle(tx, outcomes)
  }
  await defer(
    tx,
    settled.flatMap((each) => each.deferred),
  )
  // After the slots: a turn that cancels the alarm it was woken by has still been woken by it.
  for (const trigger of triggers.values()) {
    if (trigger.wishes === undefined) continue
    const wanted = settled.flatMap((each) => asked(each, trigger.type))
    if (wanted.length > 0) await trigger.wishes(tx, wanted, policy)
  }
  await keepPendingOf(tx, settled, policy.pendingMax)
  return behind
}

/** The session's counters travel in the metadata of the checkpoint the turn ends in. */
function points({ turn, row }: Settled): CheckpointWrite[] {
  return (turn.result?.points ?? []).map((point) => {
    const own = sessionMetadata(row.eventSeq, row.decision.counters)
    const metadata =
      point.id === row.checkpointId && point.ns === ''
        ? { ...point.metadata, ...own }
        : point.metadata
    return { ...point, bucket: row.bucket, metadata: JSON.stringify(metadata) }
  })
}
