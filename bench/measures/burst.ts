/**
 * Many due at one instant: how long until the last is handled and all of it is durable. Wakeful beside two job queues
 * and beside the bare SQL; once with two processes.
 */
import type { Arena, Contest, Outcome, Who } from '../arena.ts'
import { type Figure, spreadOf } from '../figures.ts'

export interface Size {
  readonly rounds: number
  readonly jobs: number
  readonly warmUp: number
}

interface Lane {
  readonly name: string
  readonly who: Who
  readonly kind: string
  readonly processes?: number
}

const LANES = [
  { name: 'graphile-worker', who: 'graphile', kind: 'job' },
  { name: 'Wakeful, silent agent', who: 'wakeful', kind: 'silent' },
  { name: 'pg-boss', who: 'boss', kind: 'job' },
  { name: 'Wakeful, two messages', who: 'wakeful', kind: 'two' },
  { name: 'raw SQL', who: 'raw', kind: 'job' },
  { name: 'Wakeful, two processes', who: 'wakeful', kind: 'silent', processes: 2 },
] as const satisfies readonly Lane[]
type Name = (typeof LANES)[number]['name']

export async function burst(arena: Arena, size: Size): Promise<Figure[]> {
  const outcomes = new Map<Name, Outcome[]>(LANES.map(({ name }) => [name, []]))
  for (let round = 0; round < size.rounds; round++) {
    // Each round begins with another, so that none always follows the same neighbour.
    const order = [...LANES.slice(round % LANES.length), ...LANES.slice(0, round % LANES.length)]
    for (const lane of order) {
      const outcome = await arena.hold(contestOf(lane, size))
      outcomes.get(lane.name)?.push(outcome)
      console.error(`  ${lane.name}: ${Math.round(outcome.ms)} ms`)
    }
  }
  const rates = (name: Name) =>
    (outcomes.get(name) ?? []).map(({ ms }) => size.jobs / (Math.max(1, ms) / 1000))
  const graphile = rates('graphile-worker')
  const boss = rates('pg-boss')
  const faster = {
    name: 'the faster queue',
    rounds: graphile.map((rate, round) => Math.max(rate, boss[round] ?? 0)),
  }
  const one = { name: 'one process', rounds: rates('Wakeful, silent agent') }
  const figure = (name: Name, more: Partial<Figure> = {}): Figure => ({
    measure: `burst of ${size.jobs.toLocaleString('en-US')}`,
    name,
    unit: '/s, all durable',
    rounds: rates(name),
    counted: countedOf(outcomes.get(name) ?? []),
    ...more,
  })
  return [
    figure('Wakeful, silent agent', { beside: faster, goal: { least: 1 } }),
    figure('Wakeful, two messages', { beside: faster, goal: { least: 0.5 } }),
    figure('Wakeful, two processes', { beside: one, goal: { least: 1 } }),
    figure('graphile-worker'),
    figure('pg-boss'),
    figure('raw SQL', { beside: faster }),
  ]
}

function contestOf({ who, kind, processes = 1 }: Lane, { jobs, warmUp }: Size): Contest {
  return { who, loads: [{ kind, count: jobs, windowMs: 0 }], warmUp, processes }
}

export function countedOf(outcomes: readonly Outcome[]): NonNullable<Figure['counted']> {
  const median = (of: (outcome: Outcome) => number | null) => {
    const values = outcomes.flatMap((outcome) => of(outcome) ?? [])
    return values.length === 0 ? null : spreadOf(values).median
  }
  return {
    walRecords: median(({ walRecords }) => walRecords),
    nodeMicros: median(({ nodeMicros }) => nodeMicros) ?? Number.NaN,
    postgresMicros: median(({ postgresMicros }) => postgresMicros),
  }
}
