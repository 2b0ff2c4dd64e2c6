/** The same on the embedded store: full turns, lateness, and how large the process has grown. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Arena } from '../arena.ts'
import type { Figure } from '../figures.ts'
import { percentile } from '../stage.ts'

export interface Size {
  readonly rounds: number
  readonly turns: number
  readonly light: number
  readonly windowMs: number
}

export async function embedded(arena: Arena, size: Size): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'wakeful-bench-'))
  let stores = 0
  const store = () => `pglite:${folder}/${++stores}`
  const rates: number[] = []
  const memory: number[] = []
  const late: number[] = []
  try {
    for (let round = 0; round < size.rounds; round++) {
      const full = { kind: 'two', count: size.turns, windowMs: 0 }
      const { ms, rssMb } = await arena.hold({ who: 'wakeful', loads: [full], store })
      rates.push(size.turns / (ms / 1000))
      memory.push(rssMb)
      const light = { kind: 'light', count: size.light, windowMs: size.windowMs }
      const calm = await arena.hold({ who: 'wakeful', loads: [light], store })
      late.push(percentile(calm.late, 0.99))
      console.error(`  ${Math.round(rates.at(-1) ?? 0)} turns/s, p99 ${late.at(-1)?.toFixed(1)} ms`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const measure = 'embedded store'
  const name = 'Wakeful, two messages'
  return [
    { measure, name, unit: 'full turns/s', rounds: rates, goal: { least: 3_000 } },
    { measure, name: 'Wakeful, light', unit: 'ms late, p99', rounds: late, goal: { most: 25 } },
    { measure, name, unit: 'MB after the burst', rounds: memory, goal: { most: 400 } },
  ]
}
