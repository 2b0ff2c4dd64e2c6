/** The built-in demo agent: answers, and checks in when left alone. Works without a model. */
import { agent } from './function.ts'

const NUDGE_SECONDS = 20
/** One more than the default cap, so that the gate has something to hold back. */
const NUDGES = 4
const LINES = [
  'Still with me?',
  'Just checking in: anything I can pick up for you?',
  'I will be here when you need me.',
]

export const companion = agent((turn) => {
  const { event, state } = turn
  if (event.type === 'user_message') {
    const { text } = event.payload as { text: string }
    state.nudges = 0
    turn.reply(
      `You said: “${text.slice(0, 500)}”. If you stay silent, I will check in after ${NUDGE_SECONDS} seconds.`,
    )
    turn.followUp('check-in', { inSeconds: NUDGE_SECONDS })
    return
  }
  if (event.type === 'timer') {
    const nudges = Number(state.nudges ?? 0)
    turn.reply(LINES[nudges % LINES.length] ?? 'Hello?')
    state.nudges = nudges + 1
    if (nudges + 1 < NUDGES) turn.followUp('check-in', { inSeconds: NUDGE_SECONDS })
    return
  }
  turn.reply(`Noted: ${event.type.replace('_', ' ')}.`)
})
