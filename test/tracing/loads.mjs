// Hears a message and answers it in a process of its own, with the variables of its argument, and prints what it has
// loaded of the OpenTelemetry SDK by then.
import { createRequire } from 'node:module'
import { agent } from '../../dist/index.js'
import { testWakeful } from '../../dist/testing.js'

const wakeful = await testWakeful({
  database: 'memory:',
  agents: { bot: agent((turn) => turn.say('hi')) },
  env: { LOG_LEVEL: 'error', ...JSON.parse(process.argv[2] ?? '{}') },
})
await wakeful.call('post_message', { session_key: 'ann:bot:t', text: 'hi' })
await wakeful.settle()
await wakeful.stop()
const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) =>
  /@opentelemetry\/(sdk|exporter|otlp|context|resources)/.test(path),
)
process.stdout.write(JSON.stringify(loaded))
