/** The engine's spans: which there are, and what each says. */

import type { Attributes, Span, Tracer } from '../core/trace/trace.ts'
import type { Undelivered } from '../features/sessions/effect-rows.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'
import type { Committed, Finished } from './commit.ts'
import type { DeliveryRecord } from './meter.ts'
import type { PromotedRow, WakeCall } from './trigger.ts'

/** `session.id` and `user.id` are the names by which Langfuse, too, knows them. */
function whose(sessionKey: string): Attributes {
  const userId = sessionKey.slice(0, sessionKey.indexOf(':'))
  return { 'session.id': sessionKey, 'user.id': userId === '' ? null : userId }
}

export function turnSpan(tracer: Tracer, claim: ClaimedTurn): Span {
  if (!tracer.on) return tracer.start('turn', { parent: claim.traceparent })
  return tracer.start('turn', {
    parent: claim.traceparent,
    attributes: {
      ...whose(claim.session_key),
      'langfuse.observation.type': 'agent',
      'wakeful.agent': claim.agent_id,
      'wakeful.event.seq': claim.seq,
      'wakeful.trigger': claim.type,
      'wakeful.trigger.id': claim.trigger_id,
      'wakeful.slot': claim.scheduled_for?.toISOString(),
      'wakeful.attempt': claim.attempt + claim.deaths + 1,
      ...(tracer.content ? { 'langfuse.observation.input': claim.payload } : {}),
    },
  })
}

/** Null: the lease was lost, or the process stops, and nothing was written. */
export function endTurn(
  tracer: Tracer,
  span: Span,
  finished: Finished | null,
  committed: Committed | null,
): void {
  if (tracer.on) {
    const messages = (committed?.decision?.effects ?? []).filter((e) => e.type === 'send_message')
    const held = committed?.decision?.verdicts.find((verdict) => !verdict.allowed)
    span.set({
      'wakeful.status': committed?.status ?? 'lost',
      'wakeful.checkpoint_id': finished?.result?.checkpointId,
      'wakeful.messages': messages.length,
      'wakeful.rule': held?.rule,
      ...(tracer.content
        ? { 'langfuse.observation.output': `[${messages.map((e) => e.payload).join(',')}]` }
        : {}),
    })
    if (committed === null) span.fail('nothing was written')
    else if (committed.status !== 'committed')
      span.fail(finished?.failure?.text ?? committed.status)
  }
  span.end()
}

/** A batch that took something, told afterwards: most look-ups find nothing and are not worth a span. */
export function batchSpan(
  tracer: Tracer,
  name: string,
  startedMs: number,
  rows: number,
  more: Attributes = {},
): void {
  if (!tracer.on || rows === 0) return
  const attributes = { 'wakeful.rows': rows, ...more }
  tracer.start(name, { parent: null, startedMs, batch: true, attributes }).end()
}

/** The moment at which something set long ago fires, within the trace it was set in. */
export function fireSpans(
  tracer: Tracer,
  type: string,
  startedMs: number,
  rows: readonly PromotedRow[],
): void {
  if (!tracer.on) return
  for (const { trace, latenessMs } of rows) {
    if (trace === undefined) continue
    const attributes = {
      ...whose(trace.sessionKey),
      'wakeful.trigger': type,
      'wakeful.trigger.id': trace.triggerId,
      'wakeful.slot': trace.scheduledFor.toISOString(),
      'wakeful.lateness_ms': latenessMs,
    }
    const parent = trace.traceparent
    tracer.start('fire', { parent, kind: 'producer', startedMs, attributes }).end()
  }
}

export function wakeSpan(tracer: Tracer, type: string, call: WakeCall): Span {
  const parent = call.traceparent ?? null
  if (!tracer.on) return tracer.start('wake', { parent })
  return tracer.start('wake', {
    parent,
    kind: 'client',
    attributes: {
      'user.id': call.slot?.userId,
      'wakeful.channel': 'webhook',
      'wakeful.delivery.id': call.deliveryId,
      'wakeful.trigger': type,
      'wakeful.trigger.id': call.slot?.triggerId ?? call.id,
      'wakeful.slot': call.slot?.scheduledFor.toISOString(),
      'wakeful.attempt': call.slot?.attempt,
    },
  })
}

export function endDelivery(span: Span, { result, error }: DeliveryRecord): void {
  span.set({ 'wakeful.result': result })
  if (error !== null) span.fail(error)
  span.end()
}

/** From the first sending to the acknowledgement, or to the last socket's leaving. */
export function socketDeliverySpan(tracer: Tracer, row: Undelivered): Span {
  const parent = row.traceparent ?? null
  if (!tracer.on) return tracer.start('deliver', { parent })
  return tracer.start('deliver', {
    parent,
    kind: 'producer',
    attributes: {
      'session.id': row.session_key,
      'user.id': row.session_key.split(':', 1)[0],
      'wakeful.channel': 'websocket',
      'wakeful.effect.id': row.id,
      'wakeful.event.seq': row.event_seq,
    },
  })
}

export function endSocketDelivery(span: Span, result: string): void {
  span.set({ 'wakeful.result': result })
  span.end()
}
