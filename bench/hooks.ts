/**
 * Signed events from outside: how many hooks a second one process takes, each with a body of its own, some of them for an intent that
 * waits. Sender and server share the machine. `node --import tsx bench/hooks.ts [--hooks 10000] [--connections 32] [--intents 100]`
 */
import { createHmac } from 'node:crypto'
import { Agent as HttpAgent, request } from 'node:http'
import { agent } from '../src/index.ts'
import { flag, openBenchApp, percentile, postgres, report } from './stage.ts'

const SECRET = 'a secret for benchmarks of hooks'
const hooks = flag('hooks', 10_000)
const connections = flag('connections', 32)
const intents = flag('intents', 100)

const database = await postgres()
const app = await openBenchApp(
  database.url,
  { bot: agent(() => undefined) },
  { WAKEFUL_RATE_PER_SECOND: '1000000' },
)
try {
  await app.start()
  const url = new URL(await app.listen())
  const http = new HttpAgent({ keepAlive: true, maxSockets: connections })
  const send = (method: string, path: string, body: string, headers: Record<string, string> = {}) =>
    new Promise<number>((done, fail) => {
      const sent = request(
        {
          ...{ agent: http, host: url.hostname, port: url.port, method, path },
          headers: { 'content-type': 'application/json', ...headers },
        },
        (answer) => {
          answer.resume()
          answer.on('end', () => done(answer.statusCode ?? 0))
        },
      )
      sent.on('error', fail)
      sent.end(body)
    })
  await send('PUT', '/v1/hooks/shop', JSON.stringify({ scheme: 'github', secret: SECRET }))
  for (let n = 0; n < intents; n++) {
    const where = [{ path: 'order.customer', op: '==', value: `c${n}` }]
    const when = { event: 'shop', where }
    await send('PUT', `/v1/schedules/watch`, JSON.stringify({ user_id: `p${n}`, when }))
  }
  const taken: number[] = []
  const one = async (n: number) => {
    const customer = `c${n % (intents * 100)}`
    const body = JSON.stringify({
      id: `evt_${n}`,
      order: { customer, total: n, items: [{ sku: 'A-1' }] },
    })
    const signature = createHmac('sha256', SECRET).update(body).digest('hex')
    const headers = { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': `d${n}` }
    const startedMs = performance.now()
    const status = await send('POST', '/v1/hooks/shop', body, headers)
    if (status !== 202) throw new Error(`hook ${n}: ${status}`)
    taken.push(performance.now() - startedMs)
  }
  let next = 0
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < hooks) await one(next++)
    }),
  )
  const seconds = (performance.now() - startedMs) / 1_000
  const sorted = taken.toSorted((a, b) => a - b)
  report('hooks', {
    'a second': hooks / seconds,
    'p50 ms': percentile(sorted, 0.5),
    'p99 ms': percentile(sorted, 0.99),
    intents,
  })
  http.destroy()
} finally {
  await app.stop()
  await database.stop()
}
