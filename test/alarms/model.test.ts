/**
 * Random lives of alarms against a model a few lines long: set, let time pass, be away, crash with claims
 * in hand, cancel, fire now. After every step the views and everything the receiver ever saw must agree.
 */
import { createHash, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { claimWakes } from '../../src/features/alarms/slot-rows.ts'
import { type Receiver, type Stage, sharedWakes } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

const LEASE_MS = 30_000
const SEED = 20_260_101

/** Whether an attempt is taken: known to model and receiver alike, and to nobody else. */
function taken(alarm: number, slot: number, attempt: number): boolean {
  const digest = createHash('sha1').update(`${alarm} ${slot} ${attempt}`).digest()
  return (digest[0] ?? 0) % 5 < 3
}

interface Slot {
  alarm: number
  kind: 'once' | 'cron'
  everyMs: number
  anchor: number
  slot: number
  due: number
  attempt: number
  failures: number
  max: number
  leased: boolean
  extra: boolean
  status: 'active' | 'fired' | 'cancelled' | 'failed'
}

class Model {
  readonly slots: Slot[] = []
  readonly calls: string[] = []
  now: number

  constructor(now: number) {
    this.now = now
  }

  set(kind: 'once' | 'cron', seconds: number, max: number): void {
    const ms = seconds * 1000
    const at = this.now + ms
    const alarm = this.slots.filter((each) => !each.extra).length
    const fresh = {
      attempt: 0,
      failures: 0,
      leased: false,
      extra: false,
      status: 'active' as const,
    }
    this.slots.push({
      alarm,
      kind,
      everyMs: ms,
      anchor: this.now,
      slot: at,
      due: at,
      max,
      ...fresh,
    })
  }

  own(alarm: number): Slot {
    const found = this.slots.find((each) => each.alarm === alarm && !each.extra)
    if (found === undefined) throw new Error(`the model has no alarm ${alarm}`)
    return found
  }

  cancel(alarm: number): void {
    for (const each of this.slots)
      if (each.alarm === alarm && each.status === 'active') each.status = 'cancelled'
  }

  fireNow(alarm: number): void {
    const own = this.own(alarm)
    if (own.status !== 'active') return
    const at = { slot: this.now, due: this.now }
    if (own.kind === 'cron')
      this.slots.push({
        ...own,
        ...at,
        kind: 'once',
        attempt: 0,
        failures: 0,
        leased: false,
        extra: true,
      })
    else if (!own.leased) Object.assign(own, at, { attempt: own.failures })
  }

  /** Somebody claims what is due and dies. */
  crash(): void {
    for (const each of this.#due()) {
      each.due = this.now + LEASE_MS
      each.attempt++
      each.leased = true
    }
  }

  advance(ms: number): void {
    const target = this.now + ms
    for (;;) {
      for (const each of this.#due()) this.#attempt(each)
      const waiting = this.slots.filter((each) => each.status === 'active').map((each) => each.due)
      const next = Math.min(...waiting)
      if (next > target) break
      this.now = Math.max(this.now, next)
    }
    this.now = target
  }

  #due(): Slot[] {
    return this.slots.filter((each) => each.status === 'active' && each.due <= this.now)
  }

  #attempt(each: Slot): void {
    const steps = (at: number) => Math.floor((at - each.anchor) / each.everyMs)
    const missed = each.kind === 'once' ? 0 : steps(this.now) - steps(each.slot)
    const attempt = ++each.attempt
    each.leased = false
    this.calls.push(`${each.alarm} ${each.slot} ${attempt} ${missed}`)
    if (!taken(each.alarm, each.slot, attempt)) {
      if (++each.failures < each.max) {
        each.due = this.now + Math.min(30_000 * 2 ** (each.failures - 1), 900_000)
        return
      }
      if (each.kind === 'once') {
        each.status = 'failed'
        return
      }
    } else if (each.kind === 'once') {
      each.status = 'fired'
      return
    }
    each.slot = each.anchor + (steps(this.now) + 1) * each.everyMs
    Object.assign(each, { due: each.slot, attempt: 0, failures: 0 })
  }
}

type Step =
  | { do: 'once' | 'cron'; seconds: number; max: number }
  | { do: 'advance' | 'away'; seconds: number }
  | { do: 'cancel' | 'fire'; which: number }
  | { do: 'crash' }

const seconds = fc.integer({ min: 1, max: 400 })
const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constantFrom('once', 'cron'),
      seconds: fc.integer({ min: 20, max: 400 }),
      max: fc.integer({ min: 1, max: 4 }),
    }),
    fc.record({ do: fc.constantFrom('advance', 'advance', 'away'), seconds }),
    fc.record({ do: fc.constantFrom('cancel', 'fire', 'fire'), which: fc.nat(5) }),
    fc.constant({ do: 'crash' }),
  ) as fc.Arbitrary<Step>,
  { minLength: 5, maxLength: 14 },
)

eachStore('a model of alarms', (store) => {
  const shared = sharedWakes(store)
  let s: Stage
  let hook: Receiver

  async function run(script: readonly Step[]): Promise<void> {
    ;({ s, hook } = shared())
    await s.reset()
    hook.received = []
    hook.answer = ({ body: { payload, scheduled_for, attempt } }, response) => {
      const ok = taken(payload, new Date(scheduled_for).getTime(), attempt)
      response.writeHead(ok ? 204 : 500).end()
    }
    const model = new Model(s.now().getTime())
    const ids: string[] = []
    for (const step of script) {
      await take(step, model, ids)
      await agree(model, ids)
    }
    model.advance(900_000)
    await s.advanceBy(900_000)
    await agree(model, ids)
  }

  async function take(step: Step, model: Model, ids: string[]): Promise<void> {
    if (step.do === 'once' || step.do === 'cron') {
      const when =
        step.do === 'once'
          ? { delay_seconds: step.seconds }
          : { cron_expr: `@every ${step.seconds}s` }
      const body = { kind: step.do, ...when, max_failures: step.max, payload: ids.length }
      ids.push((await s.set(body)).id)
      model.set(step.do, step.seconds, step.max)
    } else if (step.do === 'advance') {
      await s.advanceBy(step.seconds * 1000)
      model.advance(step.seconds * 1000)
    } else if (step.do === 'away') {
      s.sleep(step.seconds * 1000)
      model.now += step.seconds * 1000
    } else if (step.do === 'crash') {
      await claimWakes(s.app.store.db, 1000, LEASE_MS, randomUUID())
      model.crash()
    } else if ('which' in step && step.which < ids.length) {
      const path = `/v1/alarms/${ids[step.which]}`
      const before = model.own(step.which).status
      if (step.do === 'cancel') {
        model.cancel(step.which)
        const { body } = await s.call('DELETE', path)
        expect(body.status).toBe(model.own(step.which).status)
      } else {
        const { status } = await s.call('POST', `${path}/fire-now`)
        expect(status).toBe(before === 'active' ? 202 : 409)
        model.fireNow(step.which)
      }
    }
  }

  async function agree(model: Model, ids: readonly string[]): Promise<void> {
    const seen = hook.received.map(({ body }) =>
      [body.payload, new Date(body.scheduled_for).getTime(), body.attempt, body.missed_count].join(
        ' ',
      ),
    )
    expect(seen.toSorted()).toEqual(model.calls.toSorted())
    for (const [index, id] of ids.entries()) {
      const view = await s.get(id)
      const own = model.own(index)
      expect(view).toMatchObject({ status: own.status, failure_count: own.failures })
      if (own.status === 'active' && !own.leased)
        expect(new Date(view.next_fire_at).getTime()).toBe(own.due)
    }
    const [extras] = await s.query<{ n: number }>(
      `select count(*)::int as n from wakeful.alarms where parent_id is not null and status = 'active'`,
    )
    expect(extras?.n).toBe(
      model.slots.filter((each) => each.extra && each.status === 'active').length,
    )
  }

  it('agrees with the model after every step of random lives', async () => {
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 20, seed: SEED })
  })

  it('a long life with everything in it', async () => {
    await run([
      { do: 'cron', seconds: 60, max: 2 },
      { do: 'once', seconds: 90, max: 3 },
      { do: 'away', seconds: 200 },
      { do: 'crash' },
      { do: 'fire', which: 0 },
      { do: 'fire', which: 1 },
      { do: 'crash' },
      { do: 'advance', seconds: 400 },
      { do: 'fire', which: 0 },
      { do: 'cancel', which: 0 },
      { do: 'advance', seconds: 400 },
    ])
  })
})
