// The app of the channels' processes: says as often as it is asked, whoever asks. `count 3 red`: red 1, red 2, red 3.
import { agent } from '../../dist/index.js'

export default {
  agents: {
    bot: agent((turn) => {
      const { text, wake_message: wake } = turn.event.payload
      const [, times = '0', word = ''] = /^count (\d+) (\w+)$/.exec(wake ?? text ?? '') ?? []
      for (let n = 1; n <= Number(times); n++) turn.say(`${word} ${n}`)
    }),
  },
}
