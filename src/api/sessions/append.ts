/** An event from outside, into the log of its session. */
import { newId } from '../../core/ids.ts'
import type { EventType, SessionRef } from '../../core/sessions/session.ts'
import type { Appended, NewEvent } from '../../store/sessions/events.ts'
import type { Context } from '../contract.ts'
import { messageLineage } from '../lineage.ts'
import { requireAgent } from './ref.ts'

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
  if (!ctx.inTransaction) return ctx.app.append({ ...event, audit: ctx.entry ?? null })
  const row = await ctx.app.append(event, ctx.db)
  ctx.app.changed('turns')
  ctx.app.changed('outbox', [session.key])
  return row
}
