/** Little to do: how late is a handler entered, and for Wakeful how late is the message at the client; also while a burst of others drains. */
import WebSocket from 'ws'
import type { Arena } from '../arena.ts'
import { wallMs } from '../contestants/contest.ts'
import type { Figure } from '../figures.ts'
import { percentile } from '../stage.ts'

export interface Size {
  readonly rounds: number
  readonly jobs: number
  readonly windowMs: number
  readonly burst: number
}

/** As many as the sessions that the load is spread over. */
const SOCKETS = 50

/** Frame received − due. Resolves when all have come. */
async function frames(address: string, wanted: number, late: number[]): Promise<void> {
  const sockets: WebSocket[] = []
  let came: () => void = () => undefined
  const all = new Promise<void>((done) => {
    came = done
  })
  for (let n = 0; n < SOCKETS; n++) {
    const socket = new WebSocket(
      `${address.replace('http', 'ws')}/v1/sessions/light${n}:light:t/socket`,
    )
    sockets.push(socket)
    socket.on('message', (data) => {
      const at = wallMs()
      const frame = JSON.parse(String(data)) as { type: string; id: string; content: string }
      if (frame.type !== 'agent_follow_up') return
      socket.send(JSON.stringify({ type: 'ack', id: frame.id }))
      late.push(at - Number(frame.content))
      if (late.length >= wanted) came()
    })
    await new Promise((done, fail) => {
      socket.once('open', done)
      socket.once('error', fail)
    })
  }
  await all
  for (const socket of sockets) socket.close()
}

export async function light(arena: Arena, size: Size): Promise<Figure[]> {
  const lateness = new Map<string, { p50: number[]; p99: number[] }>()
  const note = (name: string, late: readonly number[]) => {
    const sorted = late.toSorted((a, b) => a - b)
    const { p50, p99 } = lateness.get(name) ?? { p50: [], p99: [] }
    p50.push(percentile(sorted, 0.5))
    p99.push(percentile(sorted, 0.99))
    lateness.set(name, { p50, p99 })
    console.error(`  ${name}: p50 ${p50.at(-1)?.toFixed(1)} ms, p99 ${p99.at(-1)?.toFixed(1)} ms`)
  }
  const load = (kind: string) => ({ kind, count: size.jobs, windowMs: size.windowMs })
  for (let round = 0; round < size.rounds; round++) {
    const seen: number[] = []
    const { late } = await arena.hold({
      who: 'wakeful',
      loads: [load('light')],
      beside: (address) => frames(address, size.jobs, seen),
    })
    note('Wakeful, handler', late)
    note('Wakeful, frame at the client', seen)
    note('graphile-worker', (await arena.hold({ who: 'graphile', loads: [load('job')] })).late)
    note('pg-boss', (await arena.hold({ who: 'boss', loads: [load('job')] })).late)
    for (const [name, kind] of BURSTS) {
      const crowded: number[] = []
      await arena.hold({
        who: 'wakeful',
        loads: [
          { kind: 'light', count: size.jobs, windowMs: 3_000 },
          { kind, count: size.burst, windowMs: 0 },
        ],
        beside: (address) => frames(address, size.jobs, crowded),
      })
      note(name, crowded)
    }
  }
  return [...lateness].flatMap(([name, { p50, p99 }]) => figuresOf(name, p50, p99))
}

const BURSTS = [
  ['Wakeful, frame during a burst of one owner', 'greedy'],
  ['Wakeful, frame during a burst of many owners', 'silent'],
] as const

const GOALS: Readonly<Record<string, { p50?: number; p99: number }>> = {
  'Wakeful, handler': { p50: 2, p99: 10 },
  'Wakeful, frame at the client': { p99: 20 },
  'Wakeful, frame during a burst of one owner': { p99: 100 },
}

function figuresOf(name: string, p50: number[], p99: number[]): Figure[] {
  const goal = GOALS[name]
  const bound = (most: number | undefined) => (most === undefined ? {} : { goal: { most } })
  return [
    { measure: 'light', name, unit: 'ms late, p50', rounds: p50, ...bound(goal?.p50) },
    { measure: 'light', name, unit: 'ms late, p99', rounds: p99, ...bound(goal?.p99) },
  ]
}
