// The app of the process tests of work: each run leaves marks in a file of the test's own, the witness, which no
// transaction can take back. What a run does is said in its task.
import { appendFileSync, existsSync } from 'node:fs'
import { agent } from '../../dist/index.js'

const witness = process.env.WITNESS ?? ''
const hold = process.env.HOLD ?? ''
const pause = (ms) => new Promise((done) => setTimeout(done, ms))

function mark(what, { workId, runNumber, attempt, scheduledFor }) {
  const line = { what, workId, runNumber, attempt, scheduledFor, pid: process.pid }
  appendFileSync(witness, `\n${JSON.stringify(line)}`)
}

export default {
  agents: { bot: agent(() => undefined) },
  work: {
    witness: async (run) => {
      mark('start', run)
      while (run.task === 'hold' && existsSync(hold)) {
        run.signal.throwIfAborted()
        await pause(5)
      }
      mark('end', run)
      return { title: 'Done', content: `attempt ${run.attempt}` }
    },
  },
}
