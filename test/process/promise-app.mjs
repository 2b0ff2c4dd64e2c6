// The app of the process tests about promises: every message is answered with a promise of its own.
import { agent } from '../../dist/index.js'

export default {
  agents: {
    bot: agent((turn) => {
      if (turn.event.type !== 'user_message') return
      const { text } = turn.event.payload
      turn.say(text)
      turn.schedule(text, { at: '2090-01-01T00:00:00Z' })
    }),
  },
}
