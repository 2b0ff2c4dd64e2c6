/**
 * The commit of finished turns. Turns that are ready together share one transaction: each is decided by what its claim brought,
 * and everything is written at once, if that still holds. Where it does not, the heads we still hold are locked
 * and each turn is decided by what the lock showed. A turn whose lease was lost writes nothing.
 */
import type { TurnResult } from '../agents/agent.ts'
import { sessionMetadata } from '../core/sessions/checkpoint.ts'
import { EFFECTS_PER_TURN_MAX, type EventType } from '../core/sessions/session.ts'
import type { Decision, EffectRow, Failure, Policy } from '../core/sessions/turn.ts'
import { afterFailure, decide, openingCounters } from '../core/sessions/turn.ts'
import type { Db } from '../store/db/db.ts'
import { byKey, databaseNow } from '../store/db/due.ts'
import {
  type CheckpointWrite,
  writeBlobs,
  writePendingWrites,
} from '../store/sessions/checkpoints.ts'
import type { ClaimedTurn } from '../store/sessions/sessions.ts'
import {
  HeadMovedError,
  type HeldHead,
  lockHeads,
  type TurnWrite,
  writeTurns,
} from '../store/sessions/turns.ts'
import type { Asked, SlotOutcome, Trigger } from '../triggers/trigger.ts'

export interface Finished {
  readonly claim: ClaimedTurn
  readonly token: string
  readonly result: TurnResult | null
  readonly failure: Failure | null
  /** The turn's trace: what it sets belongs to it. */
  readonly traceparent?: string | null
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

export async function commitTurns(
  db: Db,
  finished: readonly Finished[],
  policy: Policy,
  triggers: Triggers,
): Promise<Committed[]> {
  const commit = (headsOf: (tx: Db) => Promise<Heads>) =>
    byKey(db, async (tx) => {
      const heads = await headsOf(tx)
      const now = await databaseNow(tx)
      const decided = finished.map((turn) => {
        const head = heads.get(turn)
        return head === undefined ? null : settle({ turn, head, now }, policy, triggers)
      })
      const writes = decided.filter((each) => each !== null)
      const behind = writes.length > 0 ? await write(tx, writes, policy, triggers) : NOBODY
      return decided.map((each) => (each === null ? LOST : answerOf(each, behind)))
    })
  try {
    return await commit(async () => CLAIMED)
  } catch (error) {
    if (!(error instanceof HeadMovedError)) throw error
    return commit((tx) => heldHeads(tx, finished))
  }
}

type Heads = Pick<ReadonlyMap<Finished, HeldHead>, 'get'>

const CLAIMED: Heads = { get: ({ claim }) => claim }
const NOBODY: ReadonlySet<string> = new Set()

/**
 * The heads of the turns that still hold theirs. A session may be among them twice: its lease ran out, this
 * very process took it up again, and both attempts end together. Heads are told by session, not by token,
 * so no look-up asks for one session twice: else the lost attempt would pass by the living one's token.
 */
async function heldHeads(tx: Db, finished: readonly Finished[]): Promise<Map<Finished, HeldHead>> {
  const held = new Map<Finished, HeldHead>()
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
    for (const [key, head] of await lockHeads(tx, asked)) {
      const turn = round.get(key)
      if (turn !== undefined) held.set(turn, head)
    }
    rest = again
  }
  return held
}

interface Held {
  readonly turn: Finished
  readonly head: HeldHead
  /** The database's time of this transaction. */
  readonly now: Date
}

interface Settled extends Omit<Held, 'head'> {
  readonly row: TurnWrite
}

function answerOf({ row }: Settled, behind: ReadonlySet<string>): Committed {
  const { status, decision, retryMs, key } = row
  return { status, decision, retryMs, behind: behind.has(key) }
}

function settle({ turn, head, now }: Held, policy: Policy, triggers: Triggers): Settled {
  const { claim, token, result, failure } = turn
  const facts = {
    sessionKey: claim.session_key,
    eventSeq: claim.seq,
    eventType: claim.type,
    triggerId: claim.trigger_id,
    failures: claim.attempt,
  }
  const counters = {
    consecutive: head.consecutive_autonomous_msgs,
    lastAt: head.last_autonomous_at,
  }
  const retryMs = failure === null ? null : retryOf(claim, failure, triggers)
  const decision =
    result !== null
      ? decide(facts, result.wishes, { counters, lastUserSeq: head.last_user_seq, now }, policy)
      : // Given up or to be tried again: nothing is sent, but a user's message resets the counters all the same.
        {
          counters: retryMs === null ? openingCounters(claim.type, counters) : counters,
          ...NOTHING,
        }
  const status = result !== null ? 'committed' : retryMs === null ? 'failed' : 'retrying'
  const row: TurnWrite = {
    bucket: claim.bucket,
    key: claim.session_key,
    token,
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
    pushedTo: head.pushed_to,
    // Whether a later message has overtaken the timers that it sets.
    lastUserSeq: decision.timers.length > 0 ? head.last_user_seq : null,
    decision,
  }
  return { turn, now, row }
}

const NOTHING = { effects: [], timers: [], cancelledTimers: [], verdicts: [], notes: [] } as const

/** A trigger that settles its own slots takes the failure upon itself: its session goes on at once. */
function retryOf(claim: ClaimedTurn, failure: Failure, triggers: Triggers): number | null {
  if (triggers.get(claim.type)?.settle !== undefined) return null
  return afterFailure(claim.attempt, failure).retryMs
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
    const outcomes = settled.filter(({ turn }) => turn.claim.type === trigger.type).flatMap(outcome)
    if (outcomes.length > 0) await trigger.settle(tx, outcomes)
  }
  // After the slots: a turn that cancels the alarm it was woken by has still been woken by it.
  for (const trigger of triggers.values()) {
    if (trigger.wishes === undefined) continue
    const wanted = settled.flatMap((each) => asked(each, trigger.type))
    if (wanted.length > 0) await trigger.wishes(tx, wanted, policy)
  }
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

function asked({ turn, row }: Pick<Settled, 'turn' | 'row'>, trigger: EventType): Asked[] {
  const { claim, result } = turn
  const { traceparent } = row
  const session = {
    key: claim.session_key,
    userId: claim.user_id,
    agentId: claim.agent_id,
    threadId: claim.thread_id,
    bucket: claim.bucket,
  }
  return (result?.wishes ?? [])
    .slice(0, EFFECTS_PER_TURN_MAX)
    .flatMap((wish) =>
      wish.type === 'ask_trigger' && wish.trigger === trigger
        ? [{ session, wish, traceparent }]
        : [],
    )
}

function outcome({ turn, now, row }: Settled): SlotOutcome[] {
  const { claim, failure } = turn
  if (claim.trigger_id === null || claim.scheduled_for === null) return []
  return [
    {
      bucket: claim.bucket,
      sessionKey: claim.session_key,
      triggerId: claim.trigger_id,
      scheduledFor: claim.scheduled_for,
      eventSeq: claim.seq,
      eventId: claim.event_id,
      committed: row.status === 'committed',
      error: row.error,
      terminal: failure?.terminal ?? false,
      retryAfterMs: failure?.retryAfterMs ?? 0,
      messages: row.decision.effects.flatMap(messageOf),
      verdicts: row.decision.verdicts,
      asks: asked({ turn, row }, claim.type).map(({ wish }) => wish.ask),
      startedAt: row.startedAt,
      now,
    },
  ]
}

function messageOf({ id, type, payload }: EffectRow): { id: string; content: string }[] {
  if (type !== 'send_message') return []
  return [{ id, content: (JSON.parse(payload) as { content: string }).content }]
}
