/** The loop around a service: sleeps until the next due instant, wakes on a hint, backs off, stops. */
import { afterEach, expect, it, vi } from 'vitest'
import { IDLE, Loop, type Service, type Tick } from '../../src/engine/service.ts'

const HOUR_MS = 3_600_000
const loops: Loop[] = []
afterEach(async () => {
  await Promise.all(loops.splice(0).map((loop) => loop.stop()))
})

type Step = Tick | Error | (() => Tick | Promise<Tick>)

/** A service that answers its ticks one after another, then is idle for ever. */
function scripted(steps: Step[]) {
  const ticksAt: number[] = []
  const closed = vi.fn(async () => undefined)
  const service: Service = {
    name: 'scripted',
    async tick() {
      ticksAt.push(performance.now())
      const step = steps.shift() ?? IDLE
      if (step instanceof Error) throw step
      return typeof step === 'function' ? step() : step
    },
    close: closed,
  }
  return { service, ticksAt, closed }
}

function started(service: Service, pollMs = HOUR_MS) {
  const errors: unknown[] = []
  const loop = new Loop(service, { pollMs, onError: (_, error) => errors.push(error) })
  loops.push(loop)
  loop.start()
  return { loop, errors }
}

const until = (what: () => boolean) => vi.waitUntil(what, { interval: 1, timeout: 5000 })
const gap = (ticksAt: number[], index: number) => (ticksAt[index] ?? 0) - (ticksAt[index - 1] ?? 0)

it('sleeps until the next due instant, counted from the beginning of the tick, and then until the poll', async () => {
  const { service, ticksAt } = scripted([{ did: 0, more: false, nextMs: 12 }])
  started(service)
  await until(() => ticksAt.length === 2)
  // The stamp is taken a moment after the tick began. Too early by that much is harmless: the database decides what is due.
  expect(gap(ticksAt, 1)).toBeGreaterThanOrEqual(11.5)
  const polled = scripted([{ did: 0, more: false, nextMs: 30 * 86_400_000 }])
  started(polled.service, 7)
  await until(() => polled.ticksAt.length >= 3)
  expect(gap(polled.ticksAt, 1)).toBeGreaterThanOrEqual(6.5)
  expect(ticksAt).toHaveLength(2)
})

it('a hint wakes it at once, and one that comes during a tick is not lost', async () => {
  let letGo: (tick: Tick) => void = () => undefined
  const slow = () => new Promise<Tick>((done) => (letGo = done))
  const { service, ticksAt } = scripted([IDLE, slow])
  const { loop } = started(service)
  await until(() => ticksAt.length === 1)
  loop.hint()
  await until(() => ticksAt.length === 2)
  loop.hint()
  letGo(IDLE)
  await until(() => ticksAt.length === 3)
})

it('ticks again without sleeping while more is due, and lets others run in between', async () => {
  const busy: Tick = { did: 1, more: true, nextMs: null }
  const { service, ticksAt } = scripted(Array.from({ length: 50 }, () => busy))
  let breaths = 0
  const breathe = setInterval(() => breaths++, 0)
  started(service)
  await until(() => ticksAt.length === 51)
  clearInterval(breathe)
  expect(breaths).toBeGreaterThan(0)
})

it('waits longer after each error, is not hurried by hints, and starts afresh after a success', async () => {
  // A clock that jumps to the end of every wait, so that the waits can be read without being waited for.
  const waits: number[] = []
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((
    done: () => void,
    ms: number,
  ) => {
    waits.push(Math.round(ms))
    loop.hint()
    setImmediate(() => {
      nowMs += ms + 2
      done()
    })
  }) as unknown as typeof setTimeout)
  const away = () => new Error('away')
  const steps = Array.from({ length: 8 }, away)
  const { service, ticksAt } = scripted([...steps, IDLE, away(), IDLE])
  const errors: unknown[] = []
  const loop = new Loop(service, { pollMs: 50, onError: (_, error) => errors.push(error) })
  loop.start()
  while (ticksAt.length < 11) await new Promise((done) => setImmediate(done))
  await loop.stop()
  timers.mockRestore()
  vi.restoreAllMocks()
  expect(errors).toHaveLength(9)
  // Each wait ends in a short spin instead of in its timer.
  const wanted = [100, 200, 400, 800, 1600, 3200, 5000, 5000]
  expect(waits.slice(0, 8)).toEqual(wanted.map((ms) => Math.round(ms - 1.5)))
  expect(waits[9]).toBe(Math.round(100 - 1.5))
})

it('stop resolves when all is still: after the tick that runs, and the service is closed', async () => {
  let letGo: (tick: Tick) => void = () => undefined
  const { service, ticksAt, closed } = scripted([() => new Promise<Tick>((done) => (letGo = done))])
  const { loop } = started(service)
  await until(() => ticksAt.length === 1)
  let stopped = false
  const stopping = loop.stop().then(() => {
    stopped = true
  })
  await new Promise((done) => setImmediate(done))
  expect([stopped, closed.mock.calls.length]).toEqual([false, 0])
  letGo({ did: 1, more: true, nextMs: 0 })
  await stopping
  expect(ticksAt).toHaveLength(1)
  expect(closed).toHaveBeenCalled()
})

it.each([
  ['in its sleep', [IDLE]],
  ['while it waits after an error', [new Error('away')]],
] as [string, Step[]][])(
  'stops at once %s, and may be asked twice, also at the same time',
  async (_, steps) => {
    const { service, ticksAt } = scripted(steps)
    const { loop } = started(service)
    await until(() => ticksAt.length === 1)
    await Promise.all([loop.stop(), loop.stop()])
    await loop.stop()
    loop.hint()
    loop.start()
    await new Promise((done) => setImmediate(done))
    expect(ticksAt).toHaveLength(1)
  },
)

it('stops before it ever started', async () => {
  const { service, ticksAt } = scripted([])
  const loop = new Loop(service, { pollMs: HOUR_MS, onError: () => undefined })
  await loop.stop()
  loop.start()
  await loop.stop()
  expect(ticksAt).toHaveLength(0)
})
