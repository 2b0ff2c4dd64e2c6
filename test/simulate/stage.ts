/** A store in memory for one simulation after the other, and what to do with a seed: run it, or find the least that fails. */
import { migrateUp } from '../../src/store/db/migrate.ts'
import { openStore, type Store } from '../../src/store/db/open.ts'
import type { Step } from './plan.ts'
import { type Outcome, type Play, Simulation } from './simulation.ts'

/** So many shorter plans are tried. */
const TRIES_MAX = 300

interface Found {
  readonly plan: readonly Step[]
  readonly outcome: Outcome
}

export class Stage {
  readonly #store: Store
  readonly #clock: { now: () => Date | null }
  readonly #tables: string

  static async open(): Promise<Stage> {
    const clock = { now: (): Date | null => null }
    const store = await openStore('memory:', {
      now: () => clock.now(),
      onError: (error) => {
        throw error
      },
    })
    await migrateUp(store.db)
    // How a statement is planned must not depend on how often it ran before: unordered rows would change their places.
    await store.db.exec('set plan_cache_mode = force_generic_plan')
    const tables = await store.db.query<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'wakeful' and tablename <> 'migrations' order by 1`,
    )
    const names = tables.map(({ name }) => `wakeful.${name}`).join(', ')
    return new Stage(store, clock, names)
  }

  private constructor(store: Store, clock: { now: () => Date | null }, tables: string) {
    this.#store = store
    this.#clock = clock
    this.#tables = tables
  }

  async run(play: Play): Promise<Outcome> {
    await this.#store.db.exec(`truncate ${this.#tables}`)
    return Simulation.run(this.#store, this.#clock, play)
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
    return this.#store.close()
  }
}

/** By the invariant: ids and numbers are others in a shorter run. */
function sameWrong({ wrong }: Outcome, { wrong: first }: Outcome): boolean {
  return wrong !== null && wrong.split(':')[0] === first?.split(':')[0]
}
