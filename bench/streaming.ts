/**
 * Streaming: how soon a socket sees the first delta after a message was sent, and what a turn that does not stream pays.
 * `node --import tsx bench/streaming.ts [postgres://…]`
 */
import { performance } from 'node:perf_hooks'
import { WebSocket } from 'ws'
import { agent, wakeful } from '../src/index.ts'

const ROUNDS = 200
const database = process.argv[2] ?? 'memory:'

async function* tokens(): AsyncGenerator<string> {
  for (let nth = 0; nth < 20; nth++) {
    yield `word ${nth} `
    await new Promise(setImmediate)
  }
}

const app = await wakeful({
  database,
  agents: {
    streams: agent((turn) => turn.say(tokens())),
    plain: agent((turn) => turn.say('one word')),
  },
  env: { ...process.env, PORT: '0', LOG_LEVEL: 'silent' },
})
const url = await app.listen()

/** Milliseconds from a message to the first frame of this type, sorted. */
async function measure(name: string, type: string): Promise<number[]> {
  const key = `bench:${name}:${process.pid}`
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/sessions/${key}/socket`)
  let heard: (frame: { type: string; id?: string }) => void = () => undefined
  socket.on('message', (data) => heard(JSON.parse(String(data))))
  await new Promise((done) => socket.once('open', done))
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    let first: number | null = null
    const answered = new Promise<void>((done) => {
      heard = (frame) => {
        if (frame.type === type) first ??= performance.now() - began
        if (frame.type !== 'message') return
        socket.send(JSON.stringify({ type: 'ack', id: frame.id }))
        done()
      }
    })
    socket.send(JSON.stringify({ type: 'user_message', text: 'go' }))
    await answered
    if (first !== null) times.push(first)
  }
  socket.close()
  return times.sort((a, b) => a - b)
}

const at = (times: readonly number[], share: number) =>
  times[Math.min(times.length - 1, Math.floor(times.length * share))]?.toFixed(1)

for (const [what, name, type] of [
  ['first delta', 'streams', 'delta'],
  ['whole streamed message', 'streams', 'message'],
  ['message of a turn that does not stream', 'plain', 'message'],
] as const) {
  const times = await measure(name, type)
  console.log(
    `${what}: median ${at(times, 0.5)} ms, p99 ${at(times, 0.99)} ms, ${times.length} rounds`,
  )
}
await app.stop()
