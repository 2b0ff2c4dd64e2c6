/**
 * Writes schedules: one row for each name, whatever its kind. The commit of a turn and the transaction of an operation both take
 * the person's lock here, so that a name is never in two tables.
 */
import { Refusal } from '../../core/errors.ts'
import type { SessionRef } from '../../core/session.ts'
import type { Db } from '../../store/db.ts'
import { asPerson } from '../../store/owned.ts'
import type { NewAlarm } from '../alarms/draft.ts'
import { insertAlarms } from '../alarms/rows.ts'
import { agentDids, agentOf } from '../identity/key-rows.ts'
import { LIMIT_REACHED } from '../intents/checks.ts'
import { changeIntent } from '../intents/draft.ts'
import { getIntent, insertIntent, roomForIntents, updateIntent } from '../intents/rows.ts'
import { putTimer } from '../timers/rows.ts'
import { getWork, insertWork, runNow, updateWork, type WorkRow } from '../work/rows.ts'
import { queueRuns } from '../work/slot-rows.ts'
import type { ScheduleKind, ScheduleWrite } from './plan.ts'
import {
  cancelNamedTimers,
  findNamed,
  findTargets,
  lockPeopleRows,
  removeSchedules,
  replaceAlarms,
  type ScheduleRef,
} from './rows.ts'
import type { ScheduleChange } from './schedule.ts'

export interface ScheduleCommand extends ScheduleChange {
  readonly session: SessionRef
  /** Null: the wake URL. */
  readonly agentId: string | null
  readonly inTurn: boolean
  /** Of a credential: who owns what is set, and the agent that its transaction is bound to. */
  readonly ownerDid?: string | null
  readonly boundTo?: string | null
  readonly traceparent?: string | null
  readonly lineage?: string | null
  readonly eventSeq?: number
}

/** A schedule that was right when a turn asked for it is refused at the commit: the turn fails, and others of the commit go on. */
export class ScheduleRefused extends Error {
  override readonly name = 'ScheduleRefused'
  readonly sessionKey: string
  readonly eventSeq: number

  constructor(sessionKey: string, eventSeq: number, cause: Refusal) {
    super(cause.message, { cause })
    this.sessionKey = sessionKey
    this.eventSeq = eventSeq
  }
}

type Written = { readonly kind: ScheduleKind; readonly id: string }

/** Answers what each command wrote; null where it removed. Throws a `Refusal`; for a turn's command a `ScheduleRefused`. */
export async function writeSchedules(
  tx: Db,
  commands: readonly ScheduleCommand[],
  maxFailures?: number,
): Promise<(Written | null)[]> {
  const written = new Map<ScheduleCommand, Written | null>()
  const needsLock = commands.filter(({ plan }) => plan?.write.kind !== 'timer')
  await lockPeopleRows(
    tx,
    needsLock.map(({ session }) => session.userId),
  )
  for (const round of roundsOf(commands)) await writeRound(tx, round, written, maxFailures)
  return commands.map((command) => written.get(command) ?? null)
}

const keyOf = ({ session, agentId, name, target }: ScheduleCommand) =>
  JSON.stringify([session.userId, agentId, name, name === '' ? target : null])

/** In no round is one name twice: the later one finds what the earlier one wrote. */
function roundsOf(commands: readonly ScheduleCommand[]): ScheduleCommand[][] {
  const rounds: Map<string, ScheduleCommand>[] = []
  for (const command of commands) {
    const key = keyOf(command)
    const free = rounds.find((round) => !round.has(key))
    if (free === undefined) rounds.push(new Map([[key, command]]))
    else free.set(key, command)
  }
  return rounds.map((round) => [...round.values()])
}

async function writeRound(
  tx: Db,
  round: readonly ScheduleCommand[],
  written: Map<ScheduleCommand, Written | null>,
  maxFailures: number | undefined,
): Promise<void> {
  const keys = round.map(
    ({ session: { bucket, userId: user_id }, agentId, name, target }, nth) => ({
      ...{ nth, bucket, user_id, agent_id: agentId ?? '', name, target },
    }),
  )
  const found = await findNamed(tx, keys)
  const targets = keys.flatMap(({ target, ...key }) =>
    target === undefined ? [] : [{ ...key, id: target.id }],
  )
  found.push(...(await findTargets(tx, targets)))
  const gone: ScheduleRef[] = []
  const places = round.map((command, nth) => {
    const { plan } = command
    const there = new Map<string, ScheduleRef>()
    for (const row of found) if (row.nth === nth) there.set(row.id, row)
    const kept =
      [...there.values()].find(({ kind }) => kind === plan?.write.kind && kind !== 'timer') ?? null
    gone.push(...[...there.values()].filter((ref) => ref !== kept))
    return { command, kept }
  })
  await removeSchedules(tx, gone)
  await cancelNamedTimers(
    tx,
    round
      .filter(({ name, plan }) => name !== '' && plan?.write.kind !== 'timer')
      .map(({ name, session }) => ({
        ...{ bucket: session.bucket, session_key: session.key, timer_id: name },
      })),
  )
  await writeAlarms(tx, places, written, maxFailures)
  for (const place of places) {
    const { command } = place
    const write = command.plan?.write
    if (write === undefined) written.set(command, null)
    else if (write.kind === 'timer') written.set(command, await writeTimer(tx, command, write))
    else if (write.kind === 'intent') written.set(command, await writeIntent(tx, place, write))
    else if (write.kind === 'work') written.set(command, await writeWork(tx, place, write))
  }
}

interface Place {
  readonly command: ScheduleCommand
  /** The row that the plan goes into. */
  readonly kept: ScheduleRef | null
}
type Of<K extends ScheduleKind> = ScheduleWrite & { readonly kind: K }

const marks = ({ traceparent = null, lineage = null }: ScheduleCommand) => ({
  traceparent,
  lineage,
})

const NO_DIDS: ReadonlyMap<string, string> = new Map()

/** An agent with a name of its own owns what is set for it, so that its key lists it. */
async function writeAlarms(
  tx: Db,
  places: readonly Place[],
  written: Map<ScheduleCommand, Written | null>,
  maxFailures: number | undefined,
): Promise<void> {
  const alarms = places.flatMap(({ command, kept }) => {
    const write = command.plan?.write
    if (write?.kind !== 'alarm') return []
    const { max_failures } = write.row
    const row = { ...write.row, max_failures: maxFailures ?? max_failures }
    return [{ command, kept, row }]
  })
  if (alarms.length === 0) return
  // Keys are kept in one place, whichever shard this is.
  const agents = alarms
    .filter(({ command }) => !command.ownerDid)
    .map(({ row }) => ({ userId: row.user_id, agentId: row.agent_id }))
  const dids = agents.length === 0 ? NO_DIDS : await agentDids(tx.home ?? tx, agents)
  const made: NewAlarm[] = []
  const again: NewAlarm[] = []
  for (const { command, kept, row } of alarms) {
    const owner_did =
      command.ownerDid ?? dids.get(agentOf({ userId: row.user_id, agentId: row.agent_id }))
    const id = kept?.id ?? row.id
    const own = { ...row, ...marks(command), id, owner_did: owner_did ?? row.owner_did }
    ;(kept === null ? made : again).push(own)
    written.set(command, { kind: 'alarm', id })
  }
  if (made.length > 0) await insertAlarms(tx, made)
  await replaceAlarms(tx, again)
}

async function writeTimer(
  tx: Db,
  command: ScheduleCommand,
  { session, fireAt, payload }: Of<'timer'>,
): Promise<Written> {
  if (command.inTurn) return { kind: 'timer', id: command.name }
  const timer = { id: command.plan?.write.id ?? '', timerId: command.name, fireAt, delayMs: null }
  const row = await putTimer(tx, session, { ...timer, payload, ...marks(command) })
  return { kind: 'timer', id: row.id }
}

async function writeIntent(
  tx: Db,
  { command, kept }: Place,
  { draft, plan }: Of<'intent'>,
): Promise<Written> {
  const { userId } = command.session
  const row = kept === null ? null : await getIntent(tx, userId, kept.id, true)
  if (row === null) {
    await requireRoom(tx, command)
    await insertIntent(tx, { ...draft, ...marks(command) }, plan)
    return { kind: 'intent', id: draft.id }
  }
  const errors: string[] = []
  const changed = changeIntent(row, draft.wish, row.now, errors)
  if (errors.length > 0) throw refused(command, new Refusal('rule', errors))
  if (changed.enabling) await requireRoom(tx, command)
  const { fresh, enabling: again } = changed
  await updateIntent(tx, row, changed.plan, { fresh, again })
  return { kind: 'intent', id: row.id }
}

async function requireRoom(tx: Db, command: ScheduleCommand): Promise<void> {
  if ((await roomForIntents(tx, command.session.userId)) > 0) return
  throw refused(command, new Refusal('rule', LIMIT_REACHED))
}

function refused({ inTurn, session, eventSeq = 0 }: ScheduleCommand, refusal: Refusal): Error {
  return inTurn ? new ScheduleRefused(session.key, eventSeq, refusal) : refusal
}

async function writeWork(
  tx: Db,
  { command, kept }: Place,
  { row: planned, runsNow }: Of<'work'>,
): Promise<Written> {
  const { userId } = command.session
  const old = kept === null ? null : await getWork(tx, userId, kept.id, true)
  let row: WorkRow | undefined
  if (old !== null && old.agent_type === planned.agent_type) {
    const same =
      old.is_active &&
      old.frequency_cron === planned.frequency_cron &&
      old.timezone === planned.timezone &&
      (old.frequency_cron !== null || old.anchor_at.getTime() === planned.anchor_at.getTime())
    const { task, parameters, agent_id, notify_session, follows_zone } = planned
    const { catch_up, catch_up_within_seconds } = planned
    const told = { task, parameters, agent_id, notify_session, follows_zone }
    const terms = { ...told, catch_up, catch_up_within_seconds }
    row = await updateWork(tx, old, { ...(same ? old : planned), ...terms })
  } else {
    if (old !== null) await removeSchedules(tx, [{ kind: 'work', bucket: old.bucket, id: old.id }])
    ;[row] = await insertWork(tx, [{ ...planned, ...marks(command) }])
  }
  if (row === undefined) throw new Error(`work ${planned.id} was not written`)
  const run = runNow(row, command.traceparent ?? null)
  // It runs in the session of its executor, which is no session of the agent that asks.
  if (runsNow) await asPerson(tx, command.boundTo ?? null, () => queueRuns(tx, [run]))
  return { kind: 'work', id: row.id }
}
