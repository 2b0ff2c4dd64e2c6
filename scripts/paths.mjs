// Counts the files that a message and its reply, and an alarm set over MCP and fired, run through: V8 coverage between two points.
// `node --import tsx scripts/paths.mjs [--files]`. The loops poll every minute, so that only what the path wakes is counted.
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { WebSocket } from 'ws'
import { agent, wakeful } from '../src/index.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const QUIET = {
  DATABASE_URL: 'memory:',
  LOG_LEVEL: 'silent',
  TIMER_POLL_INTERVAL_MS: '60000',
  EFFECT_POLL_INTERVAL_MS: '60000',
}

const app = await wakeful({
  agents: { bot: agent((turn) => turn.say('Done.')) },
  env: QUIET,
  port: 0,
})
const address = await app.listen()
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** The files with a function that ran since the last call. */
async function filesRun() {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const ran = result.filter(({ functions }) =>
    functions.some(({ ranges: [{ count }], functionName }) => count > 0 && functionName !== ''),
  )
  return ran
    .map(({ url }) => (url.startsWith('file:') ? fileURLToPath(url).replace(ROOT, '') : ''))
    .filter((path) => /^(src|packages)\//.test(path))
    .sort()
}

async function count(name, run) {
  // The first run loads what is loaded on demand.
  await run(1)
  await new Promise((done) => setTimeout(done, 300))
  await filesRun()
  await run(2)
  const files = await filesRun()
  console.log(`${name}: ${files.length} files`)
  if (process.argv.includes('--files')) for (const file of files) console.log(`  ${file}`)
}

const post = async (path, body) => {
  const answer = await fetch(address + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.text()
}

const socket = new WebSocket(`${address.replace('http', 'ws')}/v1/sessions/local:bot:main/socket`)
/** Resolves with the next message, after it was acknowledged. */
const heard = () =>
  new Promise((done) => {
    const listener = (data) => {
      const frame = JSON.parse(String(data))
      if (frame.id === undefined) return
      socket.off('message', listener)
      socket.send(JSON.stringify({ type: 'ack', id: frame.id }))
      setTimeout(done, 100, frame)
    }
    socket.on('message', listener)
  })
await new Promise((done) => socket.once('message', done))

await count('a message and its reply', async () => {
  const reply = heard()
  await post('/v1/sessions/local:bot:main/messages', { text: 'Hello' })
  await reply
})
await count('an alarm over MCP, fired and delivered', async (id) => {
  const wake = heard()
  const args = { kind: 'once', delay_seconds: 1, wake_message: 'Tea', agent_id: 'bot' }
  await post('/mcp', {
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: 'set_alarm', arguments: args },
  })
  await wake
})
socket.close()
await app.stop()
