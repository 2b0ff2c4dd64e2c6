/** A promise: a message and the alarm that keeps it, as one wish. */

import { storableText } from '../core/text.ts'
import { promiseIn } from '../features/alarms/promise.ts'
import type { TurnAction } from '../features/sessions/turn.ts'
import type { TurnInput, TurnResult } from './agent.ts'
import { type AlarmRequest, alarmDraft } from './alarm-request.ts'
import { sayable } from './said.ts'

/** A quarter of what a wake may hold, in characters: it fits whatever they are. */
const WAKE_MAX = 2_000

/** As an alarm; by default it wakes with the words of the promise. */
export interface PromiseRequest extends Omit<AlarmRequest, 'wake_message'> {
  readonly wake_message?: string
}

/** Throws what says how to mend it; then nothing is said either. */
export function promiseWish(
  text: string,
  request: PromiseRequest,
  input: TurnInput,
  id?: string,
): { wish: TurnAction; id: string } {
  const content = sayable('promise', text)
  const wake_message = request.wake_message ?? storableText(`You promised: ${text}`, WAKE_MAX)
  const draft = alarmDraft({ ...request, wake_message }, input)
  const set = { ...draft, promised: true, ...(id === undefined ? {} : { id }) }
  const wish: TurnAction = {
    type: 'send_message',
    content,
    along: [{ trigger: 'alarm', ask: { set } }],
  }
  return { wish, id: set.id }
}

/** One that was made from outside: its turn keeps it without asking the agent. */
export function promiseFor(input: TurnInput): TurnResult | null {
  const made = promiseIn(input.event)
  if (made === null) return null
  const refusal = input.refusal?.()
  if (refusal) throw refusal
  const { id, content, ...request } = made
  const { wish } = promiseWish(content, request as PromiseRequest, input, id)
  return { wishes: [wish], checkpointId: null, points: [] }
}
