/**
 * Work against a model: pause, resume, run, fail, crash and the passing of time in any order. A crash is a process
 * that takes up a run and is never heard of again; its lease ends, and the run is taken up again.
 */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { claimTurns } from '../../src/features/sessions/rows.ts'
import { workTrigger } from '../../src/features/work/trigger.ts'
import { type Row, type Stage, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const EVERY_MS = 60_000
const LEASE_MS = 7_000
const START = Date.parse('2026-01-01T00:00:00Z')

type Step =
  | { readonly type: 'advance'; readonly ms: number }
  | { readonly type: 'away'; readonly ms: number }
  | { readonly type: 'run' | 'pause' | 'resume' | 'crash' }
  | { readonly type: 'mood'; readonly fails: boolean }

interface ModelRun {
  readonly scheduledFor: number
  missed: number
  status: 'pending' | 'completed' | 'failed'
  /** The slot of the schedule: while it is in hand no further one is taken. */
  readonly slot: boolean
}

/** What ought to happen to one work of every minute. */
class Model {
  now = START
  fails = false
  next: number | null = START + EVERY_MS
  readonly runs: ModelRun[] = []
  /** Nobody takes up this work's runs before: the lease of one who died. */
  leased = 0

  #after(instant: number): number {
    return START + (Math.floor((instant - START) / EVERY_MS) + 1) * EVERY_MS
  }

  run(): void {
    this.runs.push({ scheduledFor: this.now, missed: 0, status: 'pending', slot: false })
  }

  pause(): void {
    this.next = null
  }

  resume(): void {
    this.next ??= this.#after(this.now)
  }

  #promote(): void {
    const inHand = this.runs.some((run) => run.slot && run.status === 'pending')
    if (this.next === null || this.next > this.now || inHand) return
    const following = this.#after(this.now)
    const missed = (following - this.next) / EVERY_MS - 1
    this.runs.push({ scheduledFor: this.next, missed, status: 'pending', slot: true })
    this.next = following
  }

  /** Runs what is due at this instant. */
  #settle(): void {
    this.#promote()
    if (this.leased > this.now) return
    for (const run of this.runs) {
      if (run.status !== 'pending') continue
      run.status = this.fails ? 'failed' : 'completed'
      if (run.slot && this.next !== null && this.next <= this.now) {
        const following = this.#after(this.now)
        run.missed += (following - this.next) / EVERY_MS
        this.next = following
      }
    }
    this.#promote()
  }

  advance(ms: number): void {
    const target = this.now + ms
    for (;;) {
      this.#settle()
      const instants = [this.next, this.leased].filter((at) => at !== null && at > this.now)
      const soonest = Math.min(...(instants as number[]))
      if (soonest > target) break
      this.now = soonest
    }
    this.now = target
    this.#settle()
  }

  crash(): void {
    this.#promote()
    const waits = this.runs.some((run) => run.status === 'pending')
    if (waits && this.leased <= this.now) this.leased = this.now + LEASE_MS
  }
}

/** As a process would that dies right after it has begun. */
async function crash(s: Stage): Promise<void> {
  const { engine } = s.app.store
  await workTrigger.promote(engine)
  const { turns } = await claimTurns(engine, 10, LEASE_MS, randomUUID(), ['model'])
  const events = turns.map((turn) => ({
    bucket: turn.bucket,
    eventId: turn.event_id,
    triggerId: turn.trigger_id ?? '',
    attempt: turn.attempt + turn.deaths + 1,
  }))
  if (events.length > 0) await workTrigger.began?.(engine, events)
}

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 150_000 }) }),
  fc.record({ type: fc.constant('away' as const), ms: fc.integer({ min: 0, max: 400_000 }) }),
  fc.record({ type: fc.constantFrom('run', 'pause', 'resume', 'crash') }),
  fc.record({ type: fc.constant('mood' as const), fails: fc.boolean() }),
)

eachStore('work beside its model', (store) => {
  let fails = false
  const get = sharedStage(store, {
    work: {
      model: async () => {
        if (fails) throw new Error('as told')
        return { title: 'Model', content: '' }
      },
    },
  })

  async function take(s: Stage, model: Model, path: string, each: Step): Promise<void> {
    if (each.type === 'advance') {
      model.advance(each.ms)
      await s.advanceBy(each.ms)
    } else if (each.type === 'away') {
      model.now += each.ms
      s.sleep(each.ms)
    } else if (each.type === 'mood') {
      model.fails = each.fails
      fails = each.fails
    } else if (each.type === 'crash') {
      model.crash()
      await crash(s)
    } else {
      model[each.type]()
      if (each.type === 'run') expect((await s.call('POST', `${path}/run`)).status).toBe(202)
      else await s.call('PATCH', path, { is_active: each.type === 'resume' })
    }
  }

  it('rules 6, 30 and 31: whatever happens in whatever order, every run ends as the model says', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const s = get()
        await s.reset()
        fails = false
        const model = new Model()
        const body = { task: 'x', agent_type: 'model', frequency: '@every 1m', run_first: false }
        const { work } = (await s.call('POST', '/v1/work', body)).body
        const path = `/v1/work/${work.id}`
        for (const each of steps) await take(s, model, path, each)
        // Longer than any lease: nothing may be left in between.
        await take(s, model, path, { type: 'advance', ms: LEASE_MS })
        const outputs: Row[] = (await s.call('GET', `${path}/outputs?limit=100`)).body.data
        expect(
          outputs
            .reverse()
            .map((o) => [o.run_number, Date.parse(o.scheduled_for), o.missed_count, o.status]),
        ).toEqual(model.runs.map((run, n) => [n + 1, run.scheduledFor, run.missed, run.status]))
        const shown = (await s.call('GET', path)).body.work
        const next = shown.next_run_at === null ? null : Date.parse(shown.next_run_at)
        expect([shown.is_active, next]).toEqual([model.next !== null, model.next])
      }),
      { numRuns: store.name === 'pglite' ? 25 : 40, seed: 20260101 },
    )
  })
})
