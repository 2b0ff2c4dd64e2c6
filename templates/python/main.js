/** Wakeful and the agent together, for one machine. Elsewhere they run apart: see README.md. */
import { wakeful } from 'wakeful'
import { introduce, startAgent } from './agent.js'

const agent = await startAgent()
const app = await wakeful({
  agents: {},
  // The agent is on this machine, where calls go only if they are told that they may.
  env: { ...process.env, WAKEFUL_ALLOW_PRIVATE_WEBHOOKS: 'true' },
})
console.log(`listening on ${await app.listen()}`)
await introduce(app, agent)

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await app.stop()
    agent.stop()
  })
