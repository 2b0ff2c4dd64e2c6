/**
 * The built-in demo agent. It understands plain sentences without a model, asks when they are unclear, and checks in when the
 * user is silent. With a model, the model chooses among the same actions as tools.
 */

import type { Agent } from '../../../src/agents/agent.ts'
import { agent, type Turn } from '../../../src/agents/function.ts'
import { act, isIdle, placeOf } from './act.ts'
import type { Fired } from './compose.ts'
import { type Digest, gather, initiate, lateText, type Waited } from './initiate.ts'
import type { Answer } from './plans.ts'
import { type ModelMind, think } from './think.ts'
import { understand } from './understand.ts'

const CHECK_IN = 'check-in'
const NUDGE_SECONDS = 20
/** One more than the default cap, so that the demo shows the gate blocking one. */
const NUDGES = 4
const LINES = [
  'Still with me?',
  'Just checking in: anything I can pick up for you?',
  'I will be here when you need me.',
]

const NO_WRITER =
  'Texts are written by a chat model: until WAKEFUL_MODEL_URL and WAKEFUL_MODEL are set, its runs fail and say so.'

/** `mind`: a chat model with tools, asked first. While it is unavailable, sentences are parsed without it. */
export function createCompanion(mind: ModelMind | null = null): Agent {
  return agent(
    (turn) => (turn.event.type === 'user_message' ? answer(turn, mind) : speakFirst(turn, mind)),
    { runsInForecasts: mind === null },
  )
}

export const companion = createCompanion()

async function answer(turn: Turn, mind: ModelMind | null): Promise<void> {
  const { text } = turn.event.payload as { text: string }
  turn.state.nudges = 0
  const { text: reply, checkIn } = await answerTo(turn, text, mind)
  if (!checkIn) {
    turn.say(reply)
    return
  }
  turn.say(`${reply}\nIf you stay silent, I will check in after ${NUDGE_SECONDS} seconds.`)
  turn.schedule(CHECK_IN, { in: NUDGE_SECONDS, cancelOnReply: true })
}

async function answerTo(turn: Turn, text: string, mind: ModelMind | null): Promise<Answer> {
  if (mind !== null) {
    const thought = await think(turn, text, mind)
    if (thought.answered) return thought.answer
    const plain = await act(turn, understand(text, placeOf(turn)), text)
    return { ...plain, text: `${plain.text}\n(${thought.note})` }
  }
  const meaning = understand(text, placeOf(turn))
  const plain = await act(turn, meaning, text)
  if (meaning.is !== 'work' || meaning.type !== 'content') return plain
  return { ...plain, text: `${plain.text}\n(${NO_WRITER})` }
}

/** An event other than a user message. The gate applies to a check-in, not to a reminder, which is a promise. */
async function speakFirst(turn: Turn, mind: ModelMind | null): Promise<void> {
  const nudges = Number(turn.state.nudges ?? 0)
  turn.say(await firstWords(turn, nudges, mind))
  turn.state.nudges = nudges + 1
  if (nudges + 1 >= NUDGES || !(await isIdle(turn, triggerOf(turn)))) return
  turn.schedule(CHECK_IN, { in: NUDGE_SECONDS, cancelOnReply: true })
}

interface Rung {
  readonly alarm_id: string
  readonly wake_message: string
  readonly missed_count: number
}

async function firstWords(turn: Turn, nudges: number, mind: ModelMind | null): Promise<string> {
  const { type, payload } = turn.event
  switch (type) {
    case 'timer':
      return LINES[nudges % LINES.length] ?? 'Hello?'
    case 'alarm': {
      const { wake_message, missed_count: missed } = payload as Rung
      const more = missed > 0 ? ` (${missed} more were missed meanwhile)` : ''
      return `Reminder: ${wake_message}${more}${lateText(payload as Waited, placeOf(turn))}`
    }
    case 'intent':
      return initiate(turn, payload as Fired, mind)
    case 'digest':
      return gather(turn, payload as Digest, mind)
    default:
      return `Noted: ${type.replace('_', ' ')}.`
  }
}

function triggerOf(turn: Turn): string | null {
  const { alarm_id: alarm, intent_id: intent } = (turn.event.payload ?? {}) as Partial<Rung & Fired>
  return alarm ?? intent ?? null
}
