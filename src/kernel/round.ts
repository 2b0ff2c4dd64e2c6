/** One round of services under a clock that is moved by hand: what a loop finds out by polling is asked in one question. */
import type { Db } from '../store/db.ts'
import type { DueTable } from '../store/due.ts'
import { soonestDue } from '../store/reading.ts'
import type { Service, Tick } from './service.ts'
import { soonest } from './trigger.ts'

/**
 * Each service once, in their order. One that names its tables looks only where something of them is due, or where another
 * has just made something so: most looks find nothing, and a test or a forecast is thousands of instants.
 */
export async function round(services: readonly Service[], db: Db): Promise<Tick> {
  const waits = await waitsOf(services, db)
  const ticks: Tick[] = []
  /** What others have done and nobody has taken up yet. */
  let open = 0
  for (const service of services) {
    const nextMs = waits.get(service)
    const idle = nextMs !== undefined && (nextMs === null || nextMs > 0)
    const looks = !idle || (open > 0 && service.follows)
    const tick = looks ? await service.tick() : { did: 0, more: false, nextMs }
    if (looks || service.follows) await service.settle?.()
    open += tick.did - (tick.leased ?? 0)
    ticks.push(tick)
  }
  return together(ticks)
}

/** How long until something is due for each that says where to look; null: nothing waits. */
async function waitsOf(
  services: readonly Service[],
  db: Db,
): Promise<ReadonlyMap<Service, number | null>> {
  const nowMs = db.now()?.getTime()
  const tables = [...new Set(services.flatMap((service) => service.tables ?? []))]
  if (nowMs === undefined || tables.length === 0) return new Map()
  const instants = await soonestDue(db, tables)
  const waits = new Map<DueTable, number | null>(
    tables.map((table, place) => {
      const at = instants[place]
      return [table, at ? at.getTime() - nowMs : null]
    }),
  )
  return new Map(
    services.flatMap((service) =>
      service.tables === undefined
        ? []
        : [[service, soonest(service.tables.map((table) => waits.get(table) ?? null))]],
    ),
  )
}

export function together(ticks: readonly Tick[]): Tick {
  return {
    did: ticks.reduce((sum, { did }) => sum + did, 0),
    more: ticks.some(({ more }) => more),
    nextMs: soonest(ticks.map(({ nextMs }) => nextMs)),
  }
}
