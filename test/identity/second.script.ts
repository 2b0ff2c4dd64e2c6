/** A process of its own for test/identity/revoke.test.ts: it believes a key for an hour, unless word of a revoke comes. */
import { pino } from 'pino'
import { agent } from '../../src/agents/function.ts'
import { App } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/packs.ts'
import { environment } from '../../src/config.ts'

const app = await App.open({
  config: readConfig(environment()),
  agents: new Map([['bot', agent(() => undefined)]]),
  log: pino({ level: 'silent' }),
  trustMs: 3_600_000,
})
await app.start()
process.stdout.write(`listening on ${await app.listen()}\n`)
process.stdin.on('end', () => void app.stop()).resume()
