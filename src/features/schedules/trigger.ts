/** Schedules that turns ask for: written within their commit. */
import type { PendingCommand } from '../../kernel/trigger.ts'
import type { Db } from '../../store/db.ts'
import { type ScheduleCommand, writeSchedules } from './write-rows.ts'

export async function writeScheduleAsks(
  tx: Db,
  asked: readonly PendingCommand[],
  maxFailures?: number,
): Promise<void> {
  const commands = asked.flatMap(({ session, wish: { ask }, ...rest }): ScheduleCommand[] =>
    'schedule' in ask
      ? [{ ...rest, ...ask.schedule, session, agentId: session.agentId, inTurn: true }]
      : [],
  )
  if (commands.length > 0) await writeSchedules(tx, commands, maxFailures)
}
