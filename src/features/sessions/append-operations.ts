/** An event from outside, into the log of its session. */

import { type Context, notify } from '../../api/contract.ts'
import { messageLineage } from '../../api/lineage.ts'
import { newId } from '../../core/ids.ts'
import type { EventType, SessionRef } from '../../core/session.ts'
import type { Appended, NewEvent } from './event-rows.ts'
import { requireAgent } from './ref-operations.ts'

export async function appendEvent(
  ctx: Context,
  session: SessionRef,
  type: EventType,
  payload: string,
  clientId: string | null,
  about?: NewEvent['about'],
): Promise<Appended> {
  requireAgent(ctx, session)
  const traceparent = ctx.traceparent ?? null
  const lineage = await messageLineage(ctx)
  const event: NewEvent = {
    ...{ session, id: newId(), type, payload, clientId, traceparent, lineage },
    ...(about === undefined ? {} : { about }),
  }
  if (!ctx.inTransaction) return ctx.kernel.writes.append({ ...event, audit: ctx.entry ?? null })
  const row = await ctx.kernel.writes.append(event, ctx.db)
  notify(ctx, 'turns')
  notify(ctx, 'outbox', [session.key])
  return row
}
