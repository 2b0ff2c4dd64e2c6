/** Pause, resume, run now and remove, whatever the kind. */
import { cronSchedule, missed } from '../../../packages/schedule/src/index.ts'
import { afterCommit, type Context, notify } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Db } from '../../store/db.ts'
import { LIMIT_REACHED } from '../intents/checks.ts'
import { planIntent } from '../intents/draft.ts'
import { getIntent, roomForIntents, updateIntent } from '../intents/rows.ts'
import { isConditionType, type TriggerType } from '../intents/rules.ts'
import { recordMissed } from '../people/missed-rows.ts'
import { getWork, updateWork, waitingRuns } from '../work/rows.ts'
import { changeWork, WAITING_MAX } from '../work/rules.ts'
import { queueRun } from '../work/run-operations.ts'
import * as rows from './control-rows.ts'
import { listSchedules } from './list-rows.ts'
import { lockPeopleRows, removeSchedules } from './rows.ts'
import type { ScheduleRow } from './schedule.ts'

type Verb = 'pause' | 'resume' | 'run'

/** Answers with the row as it is then. */
export async function controlSchedule(
  ctx: Context,
  seen: ScheduleRow,
  verb: Verb,
): Promise<ScheduleRow> {
  const { db } = ctx
  await lockPeopleRows(db, [seen.user_id])
  const row = await again(db, seen)
  const idle =
    verb === 'pause' ? row.status === 'paused' : verb === 'resume' && row.status === 'active'
  if (idle) return row
  if (verb === 'resume') await recordPaused(db, row)
  await CONTROL[row.kind](ctx, row, verb)
  return again(db, row)
}

async function again(
  db: Db,
  { user_id: userId, kind, id, name }: ScheduleRow,
): Promise<ScheduleRow> {
  const [row] = await listSchedules(db, { userId, kind, id, limit: 1 })
  if (row === undefined) throw new Refusal('not_found', `there is no schedule ${name || id}`)
  return row
}

type Control = (ctx: Context, row: ScheduleRow, verb: Verb) => Promise<void>

const CONTROL: Readonly<Record<ScheduleRow['kind'], Control>> = {
  timer: ({ db }, row, verb) => {
    if (verb === 'pause') return rows.pauseTimer(db, row)
    return verb === 'resume' ? rows.resumeTimer(db, row) : rows.runTimer(db, row)
  },
  async alarm({ db, traceparent }, row, verb) {
    if (verb === 'pause') return rows.pauseAlarm(db, row)
    if (verb === 'run') return rows.runAlarm(db, row, traceparent ?? null)
    const { cron, timezone, anchor_at, now } = row
    const schedule = cron === null ? null : cronSchedule({ cron_expr: cron, timezone })
    const anchor = anchor_at ?? now
    const next =
      schedule === null ? null : rows.firstAfterPause(schedule, anchor, now, row.fired_local)
    return rows.resumeAlarm(db, row, next)
  },
  async intent(ctx, row, verb) {
    const { db } = ctx
    const intent = await getIntent(db, row.user_id, row.id, true)
    if (intent === null) throw new Refusal('not_found', `there is no schedule ${row.name}`)
    if (!intent.enabled && verb !== 'pause' && (await roomForIntents(db, row.user_id)) === 0)
      throw new Refusal('rule', LIMIT_REACHED)
    if (verb === 'run') {
      if (intent.expires_at !== null && intent.expires_at <= intent.now)
        throw new Refusal('conflict', 'it has expired: change until before it runs again')
      return rows.runIntent(db, row)
    }
    const plan = planIntent({ ...intent, enabled: verb === 'resume' }, intent.now, intent.anchor_at)
    await updateIntent(db, intent, plan, { fresh: false })
  },
  async work(ctx, row, verb) {
    const { db } = ctx
    const work = await getWork(db, row.user_id, row.id, true)
    if (work === null) throw new Refusal('not_found', `there is no schedule ${row.name}`)
    if (verb === 'run') {
      await queueRun(ctx, db, work)
      if ((await waitingRuns(db, work)) > WAITING_MAX)
        throw new Refusal('conflict', `${WAITING_MAX} runs of this work wait already`)
      return notify(ctx, 'turns')
    }
    const { task, parameters, anchor_at } = work
    const errors: string[] = []
    // Work that runs once, later, keeps its time as its anchor.
    const once = { ...work, is_active: true, next_run_at: anchor_at }
    const state =
      verb === 'resume' && work.frequency_cron === null
        ? once
        : changeWork(work, { is_active: verb === 'resume' }, work.now, errors)
    if (state === null) throw new Refusal('rule', errors)
    await updateWork(db, work, { ...state, task, parameters })
  },
}

/** Times of a rhythm that passed while it was paused. */
async function recordPaused(db: Db, row: ScheduleRow): Promise<void> {
  const { kind, cron, timezone, anchor_at, paused_at, now, bucket, id, user_id, agent_id } = row
  const rhythm = kind === 'intent' ? rhythmOf(row) : cron
  if (kind === 'timer' || rhythm === null || paused_at === null) return
  const schedule = cronSchedule({ cron_expr: rhythm, timezone })
  if (schedule === null) return
  const anchor = (anchor_at ?? now).getTime()
  const passed = missed(schedule, paused_at.getTime(), now.getTime(), anchor)
  const first = rows.firstAfterPause(schedule, anchor_at ?? now, paused_at)
  if (passed.missedCount === 0 || first === null) return
  await recordMissed(db, [
    {
      ...{ bucket, id: newId(), user_id, agent_id, kind, trigger_id: id },
      name: (row.name || row.title).slice(0, 200),
      ...{ scheduled_for: first, last_for: now, slots: passed.missedCount, rule: 'paused' },
    },
  ])
}

function rhythmOf({ trigger_type, trigger_schedule }: ScheduleRow): string | null {
  if (trigger_type === null || isConditionType(trigger_type as TriggerType)) return null
  const { cron, interval_minutes: minutes } = JSON.parse(trigger_schedule ?? '{}') as {
    cron?: string
    interval_minutes?: number
  }
  return cron ?? (minutes === undefined ? null : `@every ${minutes}m`)
}

export async function removeSchedule(ctx: Context, row: ScheduleRow): Promise<void> {
  await lockPeopleRows(ctx.db, [row.user_id])
  await removeSchedules(ctx.db, [row])
  if (row.kind === 'work') afterCommit(ctx, () => ctx.kernel.work.dropFiles(row.bucket, row.id))
}
