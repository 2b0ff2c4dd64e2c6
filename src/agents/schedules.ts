/** What a turn asks of schedules: set and removed with its commit, listed with what this turn has asked for. */
import { listSchedules } from '../features/schedules/list-rows.ts'
import { planSchedule, type ScheduleKind, type SchedulePlan } from '../features/schedules/plan.ts'
import { readName, readSpec, type ScheduleSpec, withCamelCase } from '../features/schedules/spec.ts'
import { type ScheduleView, targetOf, viewOf } from '../features/schedules/view.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import type { TurnInput } from './agent.ts'

const LISTED_MAX = 500

/** What was set. */
export interface Scheduled {
  /** The name it was given. */
  readonly id: string
  readonly kind: ScheduleKind
  /** When, or on what condition, in words. */
  readonly description: string
  /** Up to three; none where it waits for a condition. */
  readonly next: readonly Date[]
  /** Defaults that were assumed, in words. */
  readonly notes: readonly string[]
}

/** Throws a `Refusal` with all that is wrong. */
export function planFor(name: string, spec: ScheduleSpec, input: TurnInput): SchedulePlan {
  const { session, startedAt, person, workTypes } = input
  const { userId, agentId, threadId } = session
  const [checkedName, checked] = [readName(name), readSpec(spec)]
  return withCamelCase(() =>
    planSchedule(checkedName, checked, {
      ...{ userId, agentId, threadId, now: startedAt },
      timezone: person?.timezone ?? 'UTC',
      work: { types: workTypes },
    }),
  )
}

export function scheduledOf({ name, write, description, next, notes }: SchedulePlan): Scheduled {
  return { id: name, kind: write.kind, description, next, notes }
}

/** What a turn commits for a schedule. A timer is an action of its own; the command clears the name in the other kinds. */
export function scheduleWishes(name: string, plan: SchedulePlan): TurnAction[] {
  const { write } = plan
  const command = {
    type: 'trigger_command',
    trigger: 'alarm',
    ask: { schedule: { name, plan } },
  } as const
  if (write.kind !== 'timer') return [command]
  const { fireAt, payload } = write
  return [{ type: 'schedule_timer', timerId: name, fireAt, delayMs: null, payload }, command]
}

export function cancelWishes(ref: string): TurnAction[] {
  const target = targetOf(ref)
  const schedule = { name: target === null ? readName(ref) : '', plan: null }
  const ask = { schedule: target === null ? schedule : { ...schedule, target } }
  const command: TurnAction = { type: 'trigger_command', trigger: 'alarm', ask }
  return target === null ? [{ type: 'cancel_timer', timerId: ref }, command] : [command]
}

/** Whether it sets or removes the schedule of this name. */
export function isAbout(name: string, wish: TurnAction): boolean {
  if (wish.type === 'schedule_timer' || wish.type === 'cancel_timer') return wish.timerId === name
  if (wish.type !== 'trigger_command' || !('schedule' in wish.ask)) return false
  return wish.ask.schedule.name === name
}

/** What is ahead for this person and agent, soonest first; of timers those of this session. */
export async function scheduledFor(
  { db, session }: TurnInput,
  wishes: readonly TurnAction[],
): Promise<ScheduleView[]> {
  const { userId, agentId, threadId } = session
  const rows = await listSchedules(db, { userId, limit: LISTED_MAX })
  const stored = rows.filter(
    (row) =>
      (row.status === 'active' || row.status === 'paused') &&
      (row.agent_id === null ? row.kind === 'work' : row.agent_id === agentId) &&
      (row.kind !== 'timer' || row.thread_id === threadId),
  )
  const asked = wishes.flatMap((wish) =>
    wish.type === 'trigger_command' && 'schedule' in wish.ask ? [wish.ask.schedule] : [],
  )
  const isReplaced = (view: ScheduleView) =>
    asked.some(({ name, target }) =>
      target === undefined ? view.ref === name : view.id === target.id,
    )
  const planned = asked.flatMap(({ plan }) => (plan === null ? [] : [planView(plan, session)]))
  const kept = stored.map(viewOf).filter((view) => !isReplaced(view))
  const at = ({ nextAt }: ScheduleView) => nextAt?.getTime() ?? Number.MAX_SAFE_INTEGER
  return [...kept, ...planned].toSorted((a, b) => at(a) - at(b) || (a.ref < b.ref ? -1 : 1))
}

function planView(plan: SchedulePlan, session: TurnInput['session']): ScheduleView {
  const { name, write, description, next, timezone } = plan
  const { userId, agentId, threadId } = session
  return {
    ...{ kind: write.kind, ref: name, id: write.id, name, userId, agentId, threadId, description },
    note: noteOf(write),
    timeZone: timezone,
    nextAt: next[0] ?? null,
    next,
    last: null,
    status: 'active',
  }
}

function noteOf(write: SchedulePlan['write']): string {
  switch (write.kind) {
    case 'timer':
      return (JSON.parse(write.payload ?? '{}') as { note?: string }).note ?? ''
    case 'alarm':
      return write.row.wake_message
    case 'intent':
      return write.plan.action_context
    case 'work':
      return write.row.task
  }
}
