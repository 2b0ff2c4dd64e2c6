// The app of the process tests about preferences: every slot that is told is a line of the message that tells it.
import { agent } from '../../dist/index.js'

const bot = agent((turn) => {
  const { items, wake_message, intent_name, timer_id } = turn.event.payload
  const told =
    items === undefined ? [wake_message ?? intent_name ?? timer_id] : items.map(({ name }) => name)
  turn.say(told.join('\n'))
})

export default { agents: { bot, one: bot, two: bot, three: bot } }
