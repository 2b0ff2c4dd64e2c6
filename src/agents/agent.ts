/** How a turn runs, whatever kind of agent runs it. An agent sees one event and answers with wishes. */
import type { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import type { EventType, SessionRef } from '../core/session.ts'
import type { TurnPerson } from '../features/people/person.ts'
import type {
  BlobWrite,
  CheckpointWrite,
  PendingWrite,
} from '../features/sessions/checkpoint-rows.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import type { Db } from '../store/db.ts'

export interface TurnEvent {
  readonly id: string
  readonly seq: number
  readonly type: EventType
  /** JSON text as it was posted. */
  readonly payload: string
  readonly createdAt: Date
  /** Earlier messages of the person that this turn answers, too: see `whileRunning`. */
  readonly merged?: readonly TurnEvent[]
  /** The slot it stands for, where a trigger made it: a failed slot may come again as another event. */
  readonly slot?: string
}

/** Shows a message to the session's open sockets while it is being written. Nothing of it is stored. */
export interface LiveText {
  /** Somebody may be looking. */
  readonly watched: boolean
  write(text: string): void
  /** Withdraws what was written; a new text may follow. */
  retract(): void
  /** The whole text, as it will be said: one that does not begin with what was written withdraws that. */
  settle(text: string): void
}

export interface TurnInput {
  readonly session: SessionRef
  readonly event: TurnEvent
  /** JSON text of the newest checkpoint, null before the first turn. */
  readonly state: string | null
  readonly checkpointId: string | null
  /** From 1. */
  readonly attempt: number
  /** By the database's time. */
  readonly startedAt: Date
  readonly signal: AbortSignal
  /** For reading only; nothing a turn asks for happens before its commit. */
  readonly db: Db
  /** Whom the session is with; absent where nobody asked. */
  readonly person?: TurnPerson
  /** What stands against setting one more trigger in this turn; null counts it. Absent where nobody counts. */
  readonly refusal?: () => Refusal | null
  /** In turns over a person's message alone: what others may still hold back is not shown. */
  readonly live?: LiveText
  /** It is asked once more, before anything of its first answer is written: what was amiss with that. */
  readonly remark?: string
  /** The names of those who do work here, where they are known. */
  readonly workTypes?: readonly string[]
}

/** The agent's own part of a checkpoint's metadata; the commit adds the session's counters. */
export type Point = Omit<CheckpointWrite, 'bucket' | 'metadata'> & {
  readonly metadata: Record<string, unknown>
}

/** What a turn has used up. */
export interface Spent {
  readonly tokens: number
  readonly usd: number
  /** Calls of a model; one by default. */
  readonly calls?: number
}

export interface TurnResult {
  /** As the agent reports it; it stands in the metadata of the checkpoint that the turn ends in, too. */
  readonly spent?: Spent
  readonly wishes: readonly TurnAction[]
  /** The checkpoint this turn ends in; it is among `points`. Null: the session's state stays as it was. */
  readonly checkpointId: string | null
  readonly points: readonly Point[]
  readonly blobs?: readonly Omit<BlobWrite, 'bucket'>[]
  readonly writes?: readonly Omit<PendingWrite, 'bucket'>[]
}

export interface Agent {
  readonly kind: string
  readonly timeoutMs: number
  readonly concurrency?: number | undefined
  readonly perMinute?: number | undefined
  readonly whileRunning?: WhileRunning | undefined
  /** Calls nothing outside of its turn, so it may be run in forecasts, too. */
  readonly runsInForecasts?: boolean
  run(input: TurnInput): Promise<TurnResult>
  /** What a person is told when a turn over their message fails for good; false: nothing. By default the text of the process. */
  readonly failureText?: string | false | undefined
  /** What to say instead of the failure text; an empty list or an error leaves that text in place. */
  readonly onFailure?:
    | ((input: TurnInput, error: unknown) => Promise<readonly string[]>)
    | undefined
}

export const AGENT_TIMEOUT_MS = 60_000

/**
 * What becomes of a person's message that arrives while a turn of its session runs. `queue`: it has a turn of its own, after that one.
 * `merge`: all that have arrived are answered by the next turn together. `interrupt`: a turn over an earlier message is aborted, nothing of it
 * is written, and one turn answers both.
 */
export const WHILE_RUNNING = ['queue', 'merge', 'interrupt'] as const
export type WhileRunning = (typeof WHILE_RUNNING)[number]

/** Limits that an agent may be given. */
export interface AgentLimits {
  /** How long one turn may take; a minute unless given. */
  readonly timeoutMs?: number
  /** How many of its turns may run at once in one process; without it, a fair share of all. */
  readonly concurrency?: number
  /** How many of its turns may begin in one minute of the clock, in all processes together. What is more waits, in order. */
  readonly perMinute?: number
  /** What becomes of messages that arrive while a turn of their session runs; `queue` unless given. */
  readonly whileRunning?: WhileRunning
  /** What a person is told when a turn over their message fails for good; false: nothing. */
  readonly failureText?: string | false
}

export interface AgentOptions extends AgentLimits {
  readonly runsInForecasts?: boolean
}

export function limitsOf(limits: AgentLimits) {
  const { timeoutMs = AGENT_TIMEOUT_MS, concurrency, perMinute, whileRunning, failureText } = limits
  for (const [name, limit] of Object.entries({ concurrency, perMinute }))
    if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
      throw new TypeError(`${name}: must be a whole number from 1 on, got ${limit}`)
  if (whileRunning !== undefined && !WHILE_RUNNING.includes(whileRunning))
    throw new TypeError(
      `whileRunning: must be one of ${WHILE_RUNNING.join(', ')}, got ${whileRunning}`,
    )
  if (failureText !== undefined && failureText !== false && !String(failureText).trim())
    throw new TypeError('failureText: must be a text, or false for none')
  return { timeoutMs, concurrency, perMinute, whileRunning, failureText }
}

/**
 * The result of an agent whose whole memory is one JSON object. A turn that asks for nothing and leaves its state and the session's
 * counters as they were, and has spent nothing, ends in the checkpoint it began with.
 */
export function stateResult(
  input: TurnInput,
  wishes: readonly TurnAction[],
  state: string,
  spent?: Spent,
): TurnResult {
  const asksNothing = wishes.every(({ type }) => type === 'silence')
  const asBefore = asksNothing && state === (input.state ?? '{}') && spent === undefined
  if (asBefore && input.event.type !== 'user_message')
    return { wishes, checkpointId: null, points: [] }
  const checkpointId = newId()
  const point: Point = {
    threadId: input.session.key,
    ns: '',
    id: checkpointId,
    parentId: input.checkpointId,
    type: 'state',
    checkpoint: state,
    metadata: spent === undefined ? {} : { spent },
  }
  return { wishes, checkpointId, points: [point], ...(spent === undefined ? {} : { spent }) }
}
