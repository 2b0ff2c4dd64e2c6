// Loaded before a server (NODE_OPTIONS=--import): writes down each time its event loop was held up, by its own account, and how much
// of that its thread was at work: the rest it waited for a processor, which others had.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'

const HELD_UP_MS = 100
const RESOLUTION_MS = 10
const SCHEDSTAT = `/proc/self/task/${process.pid}/schedstat`
const known = existsSync(SCHEDSTAT)
/** So many milliseconds this thread has worked; where that is not told, all the time counts. */
const worked = () =>
  known ? Number(readFileSync(SCHEDSTAT, 'utf8').split(' ')[0]) / 1e6 : performance.now()

let before = { at: performance.now(), worked: worked() }
setInterval(() => {
  const now = { at: performance.now(), worked: worked() }
  const ms = Math.round(now.at - before.at) - RESOLUTION_MS
  const busyMs = Math.round(now.worked - before.worked)
  before = now
  if (ms > HELD_UP_MS)
    appendFileSync(process.env.LOOP_WITNESS, `${JSON.stringify({ at: Date.now(), ms, busyMs })}\n`)
}, RESOLUTION_MS).unref()
