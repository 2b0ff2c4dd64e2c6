/** The server, which ends itself by SIGKILL when it comes to a named moment: `KILL_AT=delivered`. */
import { pino } from 'pino'
import { loadApp } from '../../packages/cli/src/serve.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { environment } from '../../src/config.ts'

const env = environment()
const config = readConfig(env)
const app = await App.open({
  config,
  ...(await loadApp(config)),
  log: pino({ level: 'silent' }),
  moments: {
    reach(moment) {
      if (moment !== env.KILL_AT) return
      process.kill(process.pid, 'SIGKILL')
      // Nothing may happen between the signal and the end.
      return new Promise(() => undefined)
    },
  },
})
process.stdout.write(`listening on ${await app.listen()}\n`)
await app.start()
