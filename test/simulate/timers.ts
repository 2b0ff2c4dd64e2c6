/**
 * Time inside a simulation. Two clocks: the database's time of day, which can be set, and the steady one that processes
 * measure durations with. Timers of the processes run by the steady one. A pause passes as on a machine that was asleep:
 * every timer that came due meanwhile fires once, soonest first.
 */
const START_MS = Date.UTC(2026, 0, 1)

interface Timer {
  readonly call: () => void
  readonly everyMs: number | null
  dueMs: number
}

export class SimulatedTime {
  nowMs = START_MS
  steadyMs = 1_000
  readonly #timers = new Map<number, Timer>()
  #last = 0
  readonly #real = {
    setTimeout: globalThis.setTimeout,
    setInterval: globalThis.setInterval,
    clearTimeout: globalThis.clearTimeout,
    clearInterval: globalThis.clearInterval,
  }

  /** Takes the place of the machine's timers and steady clock until `restore`. */
  install(): void {
    const clear = (handle: unknown) => {
      if (handle !== undefined && handle !== null) this.#timers.delete(Number(handle))
    }
    const replaced = {
      setTimeout: (call: () => void, ms = 0, ...args: never[]) => this.#add(call, ms, null, args),
      setInterval: (call: () => void, ms = 0, ...args: never[]) => this.#add(call, ms, ms, args),
      clearTimeout: clear,
      clearInterval: clear,
    }
    Object.assign(globalThis, replaced)
    Object.defineProperty(performance, 'now', { value: () => this.steadyMs, configurable: true })
  }

  restore(): void {
    Object.assign(globalThis, this.#real)
    Reflect.deleteProperty(performance, 'now')
  }

  pass(ms: number): void {
    this.nowMs += ms
    this.steadyMs += ms
    const due = [...this.#timers].filter(([, timer]) => timer.dueMs <= this.steadyMs)
    due.sort(([a, one], [b, other]) => one.dueMs - other.dueMs || a - b)
    for (const [id, timer] of due) {
      if (!this.#timers.has(id)) continue
      if (timer.everyMs === null) this.#timers.delete(id)
      else timer.dueMs = this.steadyMs + timer.everyMs
      timer.call()
    }
  }

  /** Sets the database's time of day. */
  jump(ms: number): void {
    this.nowMs += ms
  }

  #add(call: (...args: never[]) => void, ms: number, everyMs: number | null, args: never[]) {
    const id = ++this.#last
    const dueMs = this.steadyMs + Math.max(1, Number.isFinite(ms) ? ms : 1)
    this.#timers.set(id, { call: () => call(...args), everyMs, dueMs })
    const handle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => false,
      refresh: () => handle,
      [Symbol.toPrimitive]: () => id,
    }
    return handle
  }
}

/** Everything that can go on without the database, an agent, a receiver or a timer has gone on. */
export async function drain(rounds = 4): Promise<void> {
  for (let n = 0; n < rounds; n++) await new Promise((done) => setImmediate(done))
}
