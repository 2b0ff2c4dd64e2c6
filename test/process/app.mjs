// The app of the process tests: every turn leaves marks in a file of the test's own, the witness, which
// no transaction can take back. What an agent does is said in the message's text.
import { appendFileSync, existsSync } from 'node:fs'
import { agent } from '../../dist/index.js'

const witness = process.env.WITNESS ?? ''
const hold = process.env.HOLD ?? ''
const BLOCK_MS = Number(process.env.BLOCK_MS ?? 0)

/** The line break comes first: SIGKILL can cut a write at a page boundary, and the next line must not join the torn one. */
function mark(what, turn) {
  const { key } = turn.session
  appendFileSync(
    witness,
    `\n${JSON.stringify({ what, key, seq: turn.event.seq, attempt: turn.attempt, pid: process.pid })}`,
  )
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms))

/** Computes without a pause: no heartbeat, no answer, nothing else in this process. */
function block() {
  const end = performance.now() + BLOCK_MS
  while (performance.now() < end);
}

export default {
  agents: {
    bot: agent(async (turn) => {
      const text = String(turn.event.payload.text ?? '')
      mark('start', turn)
      if (text === 'die') process.kill(process.pid, 'SIGKILL')
      if (text === 'slow') await pause(40)
      if (text === 'block' && turn.attempt === 1) block()
      // Holds until the test removes the file, or creates none at all.
      while (text === 'hold' && existsSync(hold)) await pause(5)
      turn.state.count = Number(turn.state.count ?? 0) + 1
      turn.say(`${turn.event.type} ${turn.event.seq}`)
      if (text === 'nudge') turn.schedule('nudge', { in: 1, cancelOnReply: true })
      mark('end', turn)
    }),
  },
}
