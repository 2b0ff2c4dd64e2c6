// The app of the process tests about manners: every alarm that is told is a line of the message that tells it.
import { agent } from '../../dist/index.js'

export default {
  agents: {
    bot: agent((turn) => {
      const { items, wake_message } = turn.event.payload
      const told = items === undefined ? [wake_message] : items.map(({ name }) => name)
      turn.reply(told.join('\n'))
    }),
  },
}
