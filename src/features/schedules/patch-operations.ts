/** Changes of an intent that leave its condition as it is: it may say more than a schedule does. */
import type { Context } from '../../api/contract.ts'
import { Refusal } from '../../core/errors.ts'
import { changeIntent, intentWish } from '../intents/draft.ts'
import { getIntent, updateIntent } from '../intents/rows.ts'
import { askedZone } from '../people/zone-operations.ts'
import { listSchedules } from './list-rows.ts'
import type { SpecChange } from './patch.ts'
import { lockPeopleRows } from './rows.ts'
import type { ScheduleRow } from './schedule.ts'
import { untilOf } from './times.ts'

const LACKS = ['with', 'cancel_on_reply', 'thread'] as const

export async function patchIntent(
  ctx: Context,
  { user_id: userId, id, name }: ScheduleRow,
  change: SpecChange,
  threadId: string | null,
): Promise<ScheduleRow> {
  const { db } = ctx
  await lockPeopleRows(db, [userId])
  const row = await getIntent(db, userId, id, true)
  if (row === null) throw new Refusal('not_found', `there is no schedule ${name || id}`)
  const errors = LACKS.filter((field) => change[field] !== undefined).map(
    (field) => `${field}: does not go with when`,
  )
  const named = await askedZone(ctx, userId, change.timezone, row.timezone)
  const { timezone } = named
  const asked = { spec: change as never, timezone, owner: { now: row.now }, errors }
  const until = change.until === undefined ? undefined : untilOf(asked)
  const zone = change.timezone === undefined ? {} : { timezone, follows_zone: named.followsZone }
  const wish = intentWish(
    {
      ...{ action_context: change.note, metadata: change.data, ...zone },
      ...{ max_executions: change.times, action_priority: change.priority, thread_id: threadId },
      ...{ catch_up: change.catch_up, catch_up_within_seconds: change.catch_up_within_seconds },
      ...(until === undefined ? {} : { expires_at: new Date(until).toISOString() }),
    },
    row,
  )
  const { plan, fresh } = changeIntent(row, wish, row.now, errors)
  if (errors.length > 0) throw new Refusal('rule', errors)
  await updateIntent(db, row, plan, { fresh })
  const [changed] = await listSchedules(db, { userId, kind: 'intent', id, limit: 1 })
  if (changed === undefined) throw new Error(`the schedule ${id} was not found again`)
  return changed
}
