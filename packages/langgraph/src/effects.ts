/** What a graph asks for in its channel `effects`, as requests of its turn. */
import * as commands from '../../../src/agents/commands.ts'
import type { Turn } from '../../../src/agents/function.ts'
import type { QuestionRequest } from '../../../src/agents/messages.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import type { ScheduleSpec } from '../../../src/features/schedules/spec.ts'

/** What a graph returns in channel `effects`. */
export type GraphEffect =
  | { readonly type: 'send_message'; readonly payload: { readonly content: string } }
  | {
      readonly type: 'schedule_timer'
      readonly payload: {
        readonly timer_id: string
        /** An instant; or `delay_seconds`. */
        readonly fire_at?: string
        readonly delay_seconds?: number
        /** Comes back in the timer's event. */
        readonly payload?: unknown
      }
    }
  /** As `turn.schedule` and `turn.cancel`: set or removed with the turn. */
  | { readonly type: 'schedule'; readonly payload: ScheduleSpec & { readonly name: string } }
  | { readonly type: 'cancel'; readonly payload: { readonly name: string } }
  /** In a turn that no user message began: nothing is sent, and the reason is recorded. */
  | { readonly type: 'stay_silent'; readonly payload?: { readonly reason?: string } }
  /** A question to the person; its answer comes as `question` in the payload of an event. */
  | { readonly type: 'ask'; readonly payload: QuestionRequest & { readonly content: string } }

const EFFECT_TYPES = ['send_message', 'stay_silent', 'schedule', 'cancel', 'ask', 'schedule_timer']

export function ask(turn: Turn, effect: unknown): void {
  const { type, payload } = (effect ?? {}) as { type?: unknown; payload?: unknown }
  const wanted = (payload ?? {}) as Record<string, unknown>
  if (type === 'send_message') {
    turn.say(wanted.content as string)
    return
  }
  if (type === 'stay_silent') {
    turn.silent(wanted.reason as string | undefined)
    return
  }
  if (type === 'schedule') {
    const { name, ...spec } = wanted
    turn.schedule(name as string, given(spec))
    return
  }
  if (type === 'cancel') {
    turn.cancel(wanted.name as string)
    return
  }
  if (type === 'ask') {
    const { content, ...request } = wanted
    turn.ask(content as string, given(request))
    return
  }
  if (type !== 'schedule_timer') throw new TypeError(`type takes ${EFFECT_TYPES.join(', ')}`)
  const { timer_id: timerId, payload: own } = wanted
  // Null is absent: models fill in every field of a tool.
  const at = wanted.fire_at ?? undefined
  const inSeconds = wanted.delay_seconds ?? undefined
  if ((at === undefined) === (inSeconds === undefined))
    throw new TypeError('payload takes exactly one of fire_at and delay_seconds')
  commands.followUp(turn, timerId as string, {
    ...(at === undefined ? { inSeconds: inSeconds as number } : { at: at as string }),
    ...(own === undefined ? {} : { payload: own }),
  })
}

/** Null is absent: models fill in every field of a tool. */
function given<T extends object>(wanted: object): T {
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== null)) as T
}

/** Not retried: the same graph would return the same effect. */
export function strictly(effect: unknown, work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new TerminalError(
      `effect ${shown((effect as { type?: unknown } | null)?.type ?? effect)}: ${(error as Error).message}`,
    )
  }
}

const SHOWN_MAX = 200
export function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, SHOWN_MAX)
}
