/**
 * The built-in demo agent: a person who keeps promises in time. It understands plain words without any model, asks back
 * when they are unclear, and checks in when left alone. With a model it lets that one choose among the same wishes.
 */

import type { Agent } from '../../agents/agent.ts'
import { agent, type Turn } from '../../agents/function.ts'
import { act, isIdle, placeOf } from './act.ts'
import type { Answer } from './plans.ts'
import { type ModelMind, think } from './think.ts'
import { understand } from './understand.ts'

const CHECK_IN = 'check-in'
const NUDGE_SECONDS = 20
/** One more than the default cap, so that the gate has something to hold back. */
const NUDGES = 4
const LINES = [
  'Still with me?',
  'Just checking in: anything I can pick up for you?',
  'I will be here when you need me.',
]

/** `mind`: a chat model with tools, asked first; while it is away plain words do. */
export function createCompanion(mind: ModelMind | null = null): Agent {
  return agent((turn) =>
    turn.event.type === 'user_message' ? answer(turn, mind) : speakFirst(turn),
  )
}

export const companion = createCompanion()

async function answer(turn: Turn, mind: ModelMind | null): Promise<void> {
  const { text } = turn.event.payload as { text: string }
  turn.state.nudges = 0
  const { text: reply, checkIn } = await answerTo(turn, text, mind)
  if (!checkIn) {
    turn.reply(reply)
    return
  }
  turn.reply(`${reply}\nIf you stay silent, I will check in after ${NUDGE_SECONDS} seconds.`)
  turn.followUp(CHECK_IN, { inSeconds: NUDGE_SECONDS })
}

async function answerTo(turn: Turn, text: string, mind: ModelMind | null): Promise<Answer> {
  if (mind !== null) {
    const thought = await think(turn, text, mind)
    if (thought.answered) return thought.answer
    const plain = await act(turn, understand(text, placeOf(turn)), text)
    return { ...plain, text: `${plain.text}\n(${thought.note})` }
  }
  return act(turn, understand(text, placeOf(turn)), text)
}

/** Woken by something other than the user: a check-in meets the gate, a reminder is a promise. */
async function speakFirst(turn: Turn): Promise<void> {
  const nudges = Number(turn.state.nudges ?? 0)
  const isTimer = turn.event.type === 'timer'
  turn.reply(isTimer ? (LINES[nudges % LINES.length] ?? 'Hello?') : wakeText(turn))
  turn.state.nudges = nudges + 1
  if (nudges + 1 >= NUDGES || !(await isIdle(turn, triggerOf(turn)))) return
  turn.followUp(CHECK_IN, { inSeconds: NUDGE_SECONDS })
}

interface Woken {
  readonly alarm_id?: string
  readonly intent_id?: string
  readonly wake_message?: string
  readonly missed_count?: number
  readonly action_context?: string
  readonly trigger_data?: { readonly price?: unknown; readonly headline?: unknown } | null
}

function wokenBy(turn: Turn): Woken {
  return (turn.event.payload ?? {}) as Woken
}

function triggerOf(turn: Turn): string | null {
  const { alarm_id: alarm, intent_id: intent } = wokenBy(turn)
  return alarm ?? intent ?? null
}

function wakeText(turn: Turn): string {
  const {
    wake_message: wake,
    missed_count: missed = 0,
    action_context,
    trigger_data,
  } = wokenBy(turn)
  const more = missed > 0 ? ` (${missed} more were missed meanwhile)` : ''
  if (wake !== undefined) return `Reminder: ${wake}${more}`
  if (action_context === undefined) return `Noted: ${turn.event.type.replace('_', ' ')}.`
  const { price, headline } = trigger_data ?? {}
  const price_ = typeof price === 'number' ? ` The price is ${price}.` : ''
  const news = typeof headline === 'string' ? ` “${headline.slice(0, 500)}”` : ''
  return `${action_context}${price_}${news}${more}`
}
