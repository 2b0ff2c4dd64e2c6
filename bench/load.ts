/** HTTP load from a thread of its own, as it would come from another machine. */
import { Worker } from 'node:worker_threads'

export interface Route {
  readonly method: 'GET' | 'POST'
  /** `#` becomes a number that goes round. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const CLIENT = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { Pool } = require('undici')
  const { address, route, total, connections, among } = workerData
  const pool = new Pool(address, { connections, pipelining: 1 })
  const text = route.body === undefined ? undefined : JSON.stringify(route.body)
  const headers = { ...route.headers, ...(text === undefined ? {} : { 'content-type': 'application/json' }) }
  let left = total
  async function lane() {
    while (left-- > 0) {
      const path = route.path.replace('#', String(left % among))
      const answer = await pool.request({ method: route.method, path, headers, body: text })
      if (answer.statusCode >= 300) throw new Error(route.path + ': ' + (await answer.body.text()))
      await answer.body.dump()
    }
  }
  const start = performance.now()
  Promise.all(Array.from({ length: connections }, lane)).then(() => {
    parentPort.postMessage((total / (performance.now() - start)) * 1000)
    return pool.close()
  })`

const CONNECTIONS = 64
/** Different sessions that are spoken to. */
const AMONG = 1_000

/** Requests per second. */
export function load(address: string, route: Route, total: number): Promise<number> {
  const workerData = { address, route, total, connections: CONNECTIONS, among: AMONG }
  const worker = new Worker(CLIENT, { eval: true, workerData })
  return new Promise((done, fail) => {
    worker.once('message', done)
    worker.once('error', fail)
  })
}
