// Loaded before a server (NODE_OPTIONS=--import): writes down each time its event loop was held up, by its own account.
import { appendFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const HELD_UP_MS = 100
const LOOK_MS = 250
const RESOLUTION_MS = 10
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()
setInterval(() => {
  const ms = Math.round(delay.max / 1e6) - RESOLUTION_MS
  delay.reset()
  if (ms > HELD_UP_MS)
    appendFileSync(process.env.LOOP_WITNESS, `${JSON.stringify({ at: Date.now(), ms })}\n`)
}, LOOK_MS).unref()
