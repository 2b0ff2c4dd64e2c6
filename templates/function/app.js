/** An agent that answers, keeps what it was told to remind of, and looks in once when nobody says anything. */
import { agent } from 'wakeful'

const LOOK_IN_SECONDS = 3600
const REMINDER = /^remind me (.+?) to (.+)$/i

const companion = agent((turn) => {
  const { type, payload } = turn.event
  if (type === 'alarm') return turn.say(payload.wake_message)
  if (type === 'timer') return turn.say('Is there anything I can do?')
  if (type !== 'user_message') return
  const [, schedule, what] = REMINDER.exec(payload.text) ?? []
  if (schedule !== undefined && what !== undefined) {
    turn.schedule(what, { at: schedule, note: `Now: ${what}` })
    return turn.say(`I will remind you ${schedule}.`)
  }
  turn.state.heard = (turn.state.heard ?? 0) + 1
  turn.say(`That is number ${turn.state.heard}: ${payload.text}`)
  // Kept by the database, so it survives a restart; cancelled when the person speaks first.
  turn.schedule('look-in', { in: LOOK_IN_SECONDS, cancelOnReply: true })
})

export default { agents: { companion } }
