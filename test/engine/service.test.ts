/** The loop around a service: sleeps until the next due instant, wakes on a hint, backs off, stops. */
import { afterEach, expect, it, vi } from 'vitest'
import { IDLE, Loop, type Service, type Stopwatch, type Tick } from '../../src/kernel/service.ts'
import { breathe, until } from '../setup/until.ts'

const HOUR_MS = 3_600_000
/** The loop's last stretch, which it spends awake. */
const SPIN_MS = 1.5
const loops: Loop[] = []
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()))
})

/** Stands still until it is moved on. */
class TestStopwatch implements Stopwatch {
  /** How long each timer was set for. */
  readonly waits: number[] = []
  readonly #timers = new Map<() => void, number>()
  #nowMs = 0

  now(): number {
    return this.#nowMs
  }

  after(ms: number, done: () => void): () => void {
    this.waits.push(ms)
    this.#timers.set(done, this.#nowMs + ms)
    return () => this.#timers.delete(done)
  }

  advance(ms: number): void {
    this.#nowMs += ms
    for (const [done, at] of this.#timers) {
      if (at > this.#nowMs) continue
      this.#timers.delete(done)
      done()
    }
  }
}

type Step = Tick | Error | (() => Tick | Promise<Tick>)

/** A service that answers its ticks one after another, then is idle for ever. */
function scripted(steps: Step[]) {
  const seen = { ticks: 0 }
  const closed = vi.fn(async () => undefined)
  const service: Service = {
    name: 'scripted',
    async tick() {
      seen.ticks++
      const step = steps.shift() ?? IDLE
      if (step instanceof Error) throw step
      return typeof step === 'function' ? step() : step
    },
    close: closed,
  }
  return { service, seen, closed }
}

function started(service: Service, pollMs = HOUR_MS, stopwatch = new TestStopwatch()) {
  const errors: unknown[] = []
  const onError = (_: string, error: unknown) => errors.push(error)
  const loop = new Loop(service, { pollMs, onError, stopwatch })
  loops.push(loop)
  loop.start()
  return { loop, errors, stopwatch }
}

const ticked = (seen: { ticks: number }, count: number) =>
  until(`tick ${count}`, () => seen.ticks === count)

it('sleeps until the next due instant, counted from the beginning of the tick', async () => {
  const stopwatch = new TestStopwatch()
  const { service, seen } = scripted([
    () => {
      stopwatch.advance(5)
      return { did: 0, more: false, nextMs: 12 }
    },
  ])
  started(service, HOUR_MS, stopwatch)
  await until('it sleeps', () => stopwatch.waits.length === 1)
  expect(stopwatch.waits).toEqual([12 - 5 - SPIN_MS])
  stopwatch.advance(12 - 5 - 0.1)
  await breathe()
  expect(seen.ticks).toBe(1)
  stopwatch.advance(0.1)
  await ticked(seen, 2)
})

it('looks a little after the instant where other processes wait for the same one', async () => {
  const stopwatch = new TestStopwatch()
  const { service, seen } = scripted([{ did: 0, more: false, nextMs: 12 }])
  const loop = new Loop(service, {
    ...{ pollMs: 20, onError: () => undefined, stopwatch, spreadMs: () => 3 },
  })
  loops.push(loop)
  loop.start()
  await until('it sleeps', () => stopwatch.waits.length === 1)
  expect(stopwatch.waits).toEqual([12 + 3 - SPIN_MS])
  stopwatch.advance(15)
  await ticked(seen, 2)
  // A poll is no instant that others wait for, nor one to be awake for.
  await until('it sleeps again', () => stopwatch.waits.length === 2)
  expect(stopwatch.waits[1]).toBe(20)
})

it('sleeps until the poll where the next due instant is later, or none is known', async () => {
  const { service, seen } = scripted([{ did: 0, more: false, nextMs: 30 * 86_400_000 }])
  const { stopwatch } = started(service, 7)
  for (let count = 1; count <= 3; count++) {
    await until('it sleeps', () => stopwatch.waits.length === count)
    stopwatch.advance(7)
    await ticked(seen, count + 1)
  }
  expect(stopwatch.waits.slice(0, 3)).toEqual([7, 7, 7])
})

it('by default it sleeps by the clock of the machine', async () => {
  const { service, seen } = scripted([{ did: 0, more: false, nextMs: 12 }])
  const loop = new Loop(service, { pollMs: HOUR_MS, onError: () => undefined })
  loops.push(loop)
  loop.start()
  await ticked(seen, 2)
})

it('a hint wakes it at once, and one that comes during a tick is not lost', async () => {
  let letGo: (tick: Tick) => void = () => undefined
  const slow = () => new Promise<Tick>((done) => (letGo = done))
  const { service, seen } = scripted([IDLE, slow])
  const { loop } = started(service)
  await ticked(seen, 1)
  loop.hint()
  await ticked(seen, 2)
  loop.hint()
  letGo(IDLE)
  await ticked(seen, 3)
})

it('ticks again without sleeping while more is due, and lets others run in between', async () => {
  const busy: Tick = { did: 1, more: true, nextMs: null }
  const { service, seen } = scripted(Array.from({ length: 50 }, () => busy))
  const { stopwatch } = started(service)
  const before = seen.ticks
  await breathe(1)
  expect([before, seen.ticks < 51]).toEqual([1, true])
  await ticked(seen, 51)
  await until('it sleeps', () => stopwatch.waits.length === 1)
})

it('waits longer after each error, is not hurried by hints, and starts afresh after a success', async () => {
  const away = () => new Error('away')
  const { service, seen } = scripted([...Array.from({ length: 8 }, away), IDLE, away()])
  const { loop, errors, stopwatch } = started(service, 50)
  const wanted = [100, 200, 400, 800, 1600, 3200, 5000, 5000, 50, 100]
  for (const [index, ms] of wanted.entries()) {
    await until('it waits', () => stopwatch.waits.length === index + 1)
    if (ms >= 100) loop.hint()
    await breathe()
    expect(seen.ticks).toBe(index + 1)
    stopwatch.advance(ms)
    await ticked(seen, index + 2)
  }
  expect(stopwatch.waits.slice(0, wanted.length)).toEqual(wanted)
  expect(errors).toHaveLength(9)
})

it('stop resolves when all is still: after the tick that runs, and the service is closed', async () => {
  let letGo: (tick: Tick) => void = () => undefined
  const { service, seen, closed } = scripted([() => new Promise<Tick>((done) => (letGo = done))])
  const { loop } = started(service)
  await ticked(seen, 1)
  let stopped = false
  const stopping = loop.stop().then(() => {
    stopped = true
  })
  await breathe()
  expect([stopped, closed.mock.calls.length]).toEqual([false, 0])
  letGo({ did: 1, more: true, nextMs: 0 })
  await stopping
  expect(seen.ticks).toBe(1)
  expect(closed).toHaveBeenCalled()
})

it.each([
  ['in its sleep', [IDLE]],
  ['while it waits after an error', [new Error('away')]],
] as [string, Step[]][])(
  'stops at once %s, and may be asked twice, also at the same time',
  async (_, steps) => {
    const { service, seen } = scripted(steps)
    const { loop } = started(service)
    await ticked(seen, 1)
    await Promise.all([loop.stop(), loop.stop()])
    await loop.stop()
    loop.hint()
    loop.start()
    await breathe()
    expect(seen.ticks).toBe(1)
  },
)

it('stops before it ever started', async () => {
  const { service, seen } = scripted([])
  const loop = new Loop(service, { pollMs: HOUR_MS, onError: () => undefined })
  await loop.stop()
  loop.start()
  await loop.stop()
  expect(seen.ticks).toBe(0)
})
