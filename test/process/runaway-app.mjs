// The app of the tests about runaways: each fire of `wild` sets two more, `slow` runs until it is aborted, `bot` answers.
import { appendFileSync } from 'node:fs'
import { agent } from '../../dist/index.js'

const witness = process.env.WITNESS ?? ''
const mark = (what, turn) =>
  appendFileSync(witness, `\n${JSON.stringify({ what, key: turn.session.key, at: Date.now() })}`)

export default {
  agents: {
    wild: agent((turn) => {
      for (const half of ['a', 'b'])
        turn.schedule(`${turn.event.id} ${half}`, { in: 0.05, thread: 'fresh' })
    }),
    slow: agent(
      (turn) =>
        new Promise((_, fail) => {
          mark('start', turn)
          turn.signal.addEventListener('abort', () => {
            mark('aborted', turn)
            fail(turn.signal.reason)
          })
        }),
      { timeoutMs: 600_000 },
    ),
    bot: agent((turn) => turn.say('here')),
  },
}
