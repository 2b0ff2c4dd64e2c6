/** A store in memory for one simulation after the other, and what to do with a seed: run it, or find the least that fails. */

import type { Db } from '../../src/store/db.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { type House, openHere } from './here.ts'
import { planOf, type Step } from './plan.ts'
import { type Outcome, type Play, Simulation } from './simulation.ts'

/** So many shorter plans are tried. */
const TRIES_MAX = 300

interface Found {
  readonly plan: readonly Step[]
  readonly outcome: Outcome
}

/** Lives that are lived once before the first: they meet most of the statements. */
const FORECAST = [1, 2, 3].map((seed) => ({ seed, plan: planOf(seed, 100) }))

export class Stage {
  readonly #house: House
  readonly #clock: { now: () => Date | null }

  static async open(): Promise<Stage> {
    const clock = { now: (): Date | null => null }
    const house = await openHere(() => clock.now())
    const { db } = house.store
    await migrateUp(db)
    for (const play of FORECAST) await Simulation.run(house.store, clock, play)
    await db.exec(`truncate ${await tablesOf(db)}`)
    await planAll(db)
    house.keep()
    return new Stage(house, clock)
  }

  private constructor(house: House, clock: { now: () => Date | null }) {
    this.#house = house
    this.#clock = clock
  }

  async run(play: Play): Promise<Outcome> {
    this.#house.restore()
    return Simulation.run(this.#house.store, this.#clock, play)
  }

  /** The same wrong with fewer steps: first halves are left out, then ever smaller parts. */
  async shrink(play: Play, first: Outcome): Promise<Found> {
    let found: Found = { plan: play.plan.slice(0, first.step + 1), outcome: first }
    let tries = 0
    for (let size = found.plan.length >> 1; size >= 1 && tries < TRIES_MAX; size >>= 1) {
      for (let from = 0; from < found.plan.length && tries < TRIES_MAX; tries++) {
        const plan = [...found.plan.slice(0, from), ...found.plan.slice(from + size)]
        const outcome = await this.run({ ...play, plan })
        if (sameWrong(outcome, first)) found = { plan, outcome }
        else from += size
      }
    }
    return found
  }

  close(): Promise<void> {
    return this.#house.store.close()
  }
}

/** By the invariant: ids and numbers are others in a shorter run. */
function sameWrong({ wrong }: Outcome, { wrong: first }: Outcome): boolean {
  return wrong !== null && wrong.split(':')[0] === first?.split(':')[0]
}

async function tablesOf(db: Db): Promise<string> {
  const tables = await db.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'wakeful' and tablename <> 'migrations' order by 1`,
  )
  return tables.map(({ name }) => `wakeful.${name}`).join(', ')
}

/** Statements are planned for empty tables, as in the first moments of a life, and keep their plans. */
async function planAll(db: Db): Promise<void> {
  const statements = await db.query<{ name: string; count: number }>(
    `select name, cardinality(parameter_types) as count from pg_prepared_statements
     where statement ~* '^\\s*(with|select|insert|update|delete)\\M' order by name`,
  )
  for (const { name, count } of statements) {
    const given = count === 0 ? '' : `(${Array(count).fill('null').join()})`
    await db.exec(`explain execute ${name}${given}`)
  }
}
