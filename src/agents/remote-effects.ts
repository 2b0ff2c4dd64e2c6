/** What a remote agent may ask for in its answer, by its `type`. */
import { z } from 'zod'
import { DELAY_MAX_SECONDS, instant, opaqueJson, words } from '../core/fields.ts'
import { isUuid } from '../core/ids.ts'
import { TEXT_MAX_BYTES, TIMER_ID_MAX } from '../core/session.ts'

const payload = opaqueJson.optional()
const timerId = z.string().min(1).max(TIMER_ID_MAX)
const sendMessage = z.strictObject({
  type: z.literal('send_message'),
  content: words(TEXT_MAX_BYTES),
})
const scheduleTimer = z
  .strictObject({
    type: z.literal('schedule_timer'),
    timer_id: timerId,
    delay_seconds: z.number().min(0).max(DELAY_MAX_SECONDS).optional(),
    fire_at: instant.optional(),
    payload,
  })
  .refine((effect) => (effect.delay_seconds === undefined) !== (effect.fire_at === undefined), {
    error: 'takes exactly one of delay_seconds and fire_at',
  })
const cancelTimer = z.strictObject({ type: z.literal('cancel_timer'), timer_id: timerId })
/** What it may hold is checked where every alarm of a turn is. */
const setAlarm = z.looseObject({ type: z.literal('set_alarm'), payload })
const promise = z.looseObject({
  type: z.literal('promise'),
  content: words(TEXT_MAX_BYTES),
  payload,
})
const ask = z.strictObject({
  type: z.literal('ask'),
  content: words(TEXT_MAX_BYTES),
  options: z.array(z.string()).optional(),
  default: z.string().optional(),
  until: z.string().optional(),
  payload,
})
const cancelQuestion = z.strictObject({
  type: z.literal('cancel_question'),
  id: z.string().refine(isUuid, 'must be the id of a question'),
})
const cancelAlarm = z.strictObject({
  type: z.literal('cancel_alarm'),
  id: z.string().refine(isUuid, 'must be the id of an alarm'),
})
/** What says when is checked where every schedule of a turn is. */
const schedule = z.looseObject({ type: z.literal('schedule'), name: z.string() })
const cancel = z.strictObject({ type: z.literal('cancel'), name: z.string() })
const silent = z.strictObject({ type: z.literal('silent'), reason: z.string().optional() })
export const effectSchema = z.discriminatedUnion('type', [
  schedule,
  cancel,
  silent,
  sendMessage,
  scheduleTimer,
  cancelTimer,
  setAlarm,
  promise,
  ask,
  cancelQuestion,
  cancelAlarm,
])
export type Effect = z.output<typeof effectSchema>
