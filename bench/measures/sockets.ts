/** Messages to a thousand clients: how many in a second are sent, acknowledged and known to be so. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Arena } from '../arena.ts'
import type { Figure } from '../figures.ts'

export interface Size {
  readonly rounds: number
  readonly clients: number
}

/** What the agent says in each turn. */
const MESSAGES = 20
const LEAST = 20_000
/** Enough to connect all clients before the first message. */
const LEAD_MS = 10_000

/** The clients have a thread of their own, as they would have other machines. */
const CLIENTS = `
  const { parentPort, workerData } = require('node:worker_threads')
  const WebSocket = require('ws')
  const { address, clients, wanted } = workerData
  let acknowledged = 0
  const sockets = []
  async function open(n) {
    const socket = new WebSocket(address.replace('http', 'ws') + '/v1/sessions/chatty' + n + ':chatty:t/socket')
    sockets.push(socket)
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data))
      if (frame.type !== 'agent_follow_up') return
      socket.send('{"type":"ack","id":"' + frame.id + '"}')
      if (++acknowledged >= wanted) parentPort.postMessage('all')
    })
    await new Promise((done, fail) => socket.once('open', done).once('error', fail))
  }
  async function main() {
    for (let n = 0; n < clients; n += 50)
      await Promise.all(Array.from({ length: Math.min(50, clients - n) }, (_, k) => open(n + k)))
    parentPort.postMessage('open')
  }
  void main()`

export async function sockets(arena: Arena, { rounds, clients }: Size): Promise<Figure[]> {
  const rates: number[] = []
  const wanted = clients * MESSAGES
  for (let round = 0; round < rounds; round++) {
    let worker: Worker | undefined
    const { ms } = await arena.hold({
      who: 'wakeful',
      leadMs: LEAD_MS,
      loads: [{ kind: 'chatty', count: clients, windowMs: 0 }],
      beside: async (address) => {
        worker = new Worker(CLIENTS, { eval: true, workerData: { address, clients, wanted } })
        for (;;) if ((await once(worker, 'message'))[0] === 'all') return
      },
    })
    await worker?.terminate()
    rates.push(wanted / (ms / 1000))
    console.error(`  ${Math.round(rates.at(-1) ?? 0)} messages/s`)
  }
  return [
    {
      measure: 'sockets',
      name: `Wakeful, ${clients.toLocaleString('en-US')} clients`,
      unit: 'messages/s, acknowledged',
      rounds: rates,
      goal: { least: LEAST },
    },
  ]
}
