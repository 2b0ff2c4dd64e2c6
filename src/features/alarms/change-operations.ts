/** Changes of alarms: what they say and when, pause, resume, and the retry of one that has ended. */
import { z } from 'zod'
import { RawJson } from '../../../packages/exact-json/src/index.ts'
import { type Context, idParam, notify, operation } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { readSpread, spreadField } from '../../core/spread.ts'
import { askedZone } from '../people/zone-operations.ts'
import { controlSchedule } from '../schedules/control-operations.ts'
import { pauseAlarm } from '../schedules/control-rows.ts'
import { listSchedules } from '../schedules/list-rows.ts'
import { lockPeopleRows, replaceAlarms } from '../schedules/rows.ts'
import { newAlarm, planAlarm, type Timing, timingOf } from './draft.ts'
import { alarmFields, alarmTimes } from './fields.ts'
import { alarmView, alarmViewOf, nameOf, notFound, scopeOf } from './operations.ts'
import { type AlarmRow, getAlarm } from './rows.ts'

const params = z.object({ id: idParam })

const changes = z
  .object({
    ...alarmTimes,
    timezone: alarmFields.timezone,
    spread: spreadField.optional(),
    label: alarmFields.label.unwrap().optional(),
    conversation_id: alarmFields.conversation_id.unwrap().optional(),
    wake_message: alarmFields.wake_message.optional(),
    payload: alarmFields.payload,
    max_failures: alarmFields.max_failures,
    catch_up: alarmFields.catch_up.unwrap().optional(),
    catch_up_within_seconds: alarmFields.catch_up_within_seconds,
    unattended: alarmFields.unattended.unwrap().optional(),
  })
  .refine((value) => Object.values(value).some((each) => each !== undefined), {
    error: 'needs at least one field',
  })
  .refine((value) => timesIn(value) <= 1, {
    error: `takes one of ${Object.keys(alarmTimes).join(', ')}`,
    when: () => true,
  })

type Changes = z.output<typeof changes>

const timesIn = (value: unknown) =>
  Object.keys(alarmTimes).filter(
    (name) => (value as Record<string, unknown> | null)?.[name] !== undefined,
  ).length

const one = { tag: 'Alarms', params, owner: 'row', output: alarmView } as const
const roles = ['admin', 'service', 'agent'] as const

async function found(ctx: Context, id: string): Promise<AlarmRow> {
  const row = await getAlarm(ctx.db, scopeOf(ctx.actor), id)
  if (row === null) throw notFound(id)
  return row
}

const answer = (row: AlarmRow, words: string) => ({
  body: alarmViewOf(row, words),
  about: { id: row.id, owner: row.user_id },
})

const isStanding = ({ status }: AlarmRow) => status === 'active' || status === 'paused'

function requireStanding(row: AlarmRow): void {
  if (!isStanding(row))
    throw new Refusal('conflict', `this alarm is ${row.status}; retry makes it active again`)
}

const updateAlarmOp = operation({
  name: 'update_alarm',
  method: 'PATCH',
  path: '/v1/alarms/{id}',
  summary: 'Change an alarm: when it wakes, what is said then, or both',
  description:
    'What is left out stays as it is. Another time may make it another kind. One that is paused stays so; one that has ended is 409.',
  ...one,
  body: changes,
  opaque: ['payload'],
  roles,
  async run(ctx, { params: { id }, body }) {
    const seen = await found(ctx, id)
    await lockPeopleRows(ctx.db, [seen.user_id])
    const row = await found(ctx, id)
    requireStanding(row)
    const asked = await askedZone(ctx, row.user_id, body.timezone, row.timezone)
    await replaceAlarms(ctx.db, [changedAlarm(row, body, asked)])
    if (row.status === 'paused') await pauseAlarm(ctx.db, row, row.paused_at)
    notify(ctx, 'clock')
    const changed = await found(ctx, id)
    return answer(changed, `${nameOf(changed)} was changed. Its id is ${id}.`)
  },
})

/** Throws a `Refusal` with all that is wrong. */
function changedAlarm(
  row: AlarmRow,
  body: Changes,
  { timezone, followsZone }: { readonly timezone: string; readonly followsZone: boolean },
) {
  const errors: string[] = []
  const isTimed = timesIn(body) > 0
  const timing: Timing = isTimed
    ? timingOf(body, timezone)
    : row.kind === 'cron'
      ? { type: 'cron', expr: row.cron_expr }
      : { type: 'at', at: row.fire_at ?? row.next_fire_at }
  const spread = readSpread(body.spread, row.user_id, row.name || row.id, errors)
  const asked = { timing, timezone, spread, errors, lateIsFine: !isTimed }
  const plan = planAlarm(asked, row.now)
  const { label, wake_message, conversation_id, catch_up, unattended } = row
  const said = Object.entries(body).filter(([, value]) => value !== undefined)
  const draft = {
    ...{ id: row.id, ownerDid: row.owner_did, userId: row.user_id, agentId: row.agent_id },
    ...{ name: row.name, priority: row.priority as 'normal', timing },
    followsZone: body.timezone === undefined ? row.follows_zone : followsZone,
    fields: {
      ...{ label, wake_message, conversation_id, catch_up, unattended },
      ...{ idempotency_key: row.idempotency_key, max_failures: row.max_failures },
      ...{
        catch_up_within_seconds: row.catch_up_within_seconds,
        payload: new RawJson(row.payload),
      },
      ...Object.fromEntries(said),
      timezone,
    },
  }
  return newAlarm(draft, plan)
}

type Verb = 'pause' | 'resume' | 'run'

async function control(ctx: Context, { user_id: userId, id }: AlarmRow, verb: Verb): Promise<void> {
  const [row] = await listSchedules(ctx.db, { userId, kind: 'alarm', id, limit: 1 })
  if (row === undefined) throw notFound(id)
  await controlSchedule(ctx, row, verb)
}

function controlOp<const N extends string>(
  name: N,
  path: 'pause' | 'resume' | 'retry',
  told: { readonly summary: string; readonly description: string; readonly did: string },
) {
  const { summary, description, did } = told
  return operation({
    name,
    method: 'POST',
    path: `/v1/alarms/{id}/${path}`,
    summary,
    description,
    ...one,
    roles,
    async run(ctx, { params: { id } }) {
      const row = await found(ctx, id)
      if (path !== 'retry') requireStanding(row)
      else if (row.status !== 'failed' && row.status !== 'fired')
        throw new Refusal('conflict', `this alarm is ${row.status}: there is nothing to retry`)
      await control(ctx, row, path === 'retry' ? 'run' : path)
      notify(ctx, 'clock')
      const changed = await found(ctx, id)
      return answer(changed, `${nameOf(changed)} ${did}. Its id is ${id}.`)
    },
  })
}

export const alarmChanges = [
  updateAlarmOp,
  controlOp('pause_alarm', 'pause', {
    summary: 'Pause an alarm: it does not wake until it is resumed',
    description: 'One that has ended is 409.',
    did: 'is paused',
  }),
  controlOp('resume_alarm', 'resume', {
    summary: 'Resume a paused alarm',
    description:
      'A recurring one goes on with its next time; those in between are recorded as missed. One whose only time has passed wakes at once.',
    did: 'is active again',
  }),
  controlOp('retry_alarm', 'retry', {
    summary: 'Make an alarm that has ended active again, due now',
    description: 'For one that failed or fired; another is 409.',
    did: 'is active again and wakes now',
  }),
]
