/**
 * One run: two processes on one store, people, their devices and their receivers, led by a plan. After every call that was let
 * through the invariants are asked; the same plan and seed make the same run, to the id.
 */
import { isDeepStrictEqual } from 'node:util'
import { makeIdsFrom } from '../../src/core/ids.ts'
import { parseSessionKey, type SessionRef } from '../../src/core/session.ts'
import type { Store } from '../../src/store/open.ts'
import { Asks } from './asks.ts'
import { Dice } from './dice.ts'
import { outOfOrder, unfinished, wrongs } from './invariants.ts'
import type { Step } from './plan.ts'
import { Process, type World } from './process.ts'
import { Looking, type Snapshot } from './snapshot.ts'
import { drain, SimulatedTime } from './timers.ts'
import { type Call, type Fate, Turnstile } from './turnstile.ts'
import { Witness } from './witness.ts'

const PROCESSES = 2
/** When the plan is over: pauses after which everything must have come to an end. */
const CALM_MS = [16_000, 31_000, 65_000, 125_000, 31_000]
const CALLS_MAX = 4_000

/** A connection of a person's device. */
interface Device {
  readonly session: SessionRef
  readonly at: Process
  readonly acks: boolean
  readonly unacknowledged: string[]
  /** Ids, as they came. */
  readonly heard: string[]
  leave: () => void
}

export interface Play {
  readonly seed: number
  readonly plan: readonly Step[]
  /** Plants a fault: statements as the processes run them. */
  readonly fault?: (text: string) => string
}

export interface Outcome {
  /** What was wrong first, or null. */
  readonly wrong: string | null
  /** Which step it was; the number of steps where it came after the last. */
  readonly step: number
  /** What happened, one line each. */
  readonly story: readonly string[]
  readonly calls: number
  /** The tables as they were last seen. */
  readonly end: Snapshot | null
}

export class Simulation {
  readonly time = new SimulatedTime()
  readonly turnstile = new Turnstile()
  readonly witness = new Witness()
  readonly #store: Store
  readonly #asks: Asks
  readonly #tables: Looking
  readonly #processes: Process[] = []
  readonly #frozen = new Set<Process>()
  readonly #devices: Device[] = []
  readonly #story: string[] = []
  #calls = 0
  #born = 0
  /** How far the time of day was set back: leases and retries then wait so much longer. */
  #backMs = 0
  #before: Snapshot | null = null

  private constructor(store: Store) {
    this.#store = store
    this.#tables = new Looking(store.db)
    this.#asks = new Asks(this.witness)
    this.turnstile.heard = (statement) => this.#tell(`    ${statement}`)
  }

  /** `store` is empty, and `clock` is what it asks for the time. */
  static async run(
    store: Store,
    clock: { now: () => Date | null },
    { seed, plan, fault = (text) => text }: Play,
  ): Promise<Outcome> {
    const simulation = new Simulation(store)
    simulation.turnstile.rewritten = fault
    const ids = new Dice(seed ^ 0x5eed)
    clock.now = () => new Date(simulation.time.nowMs)
    makeIdsFrom({ fill: (bytes) => ids.fill(bytes), ms: () => simulation.time.nowMs })
    simulation.time.install()
    try {
      return await simulation.#run(plan)
    } finally {
      for (const process of simulation.#processes) simulation.turnstile.bury(process.mortal)
      simulation.time.restore()
      makeIdsFrom(null)
      clock.now = () => null
    }
  }

  async #run(plan: readonly Step[]): Promise<Outcome> {
    let step = 0
    try {
      for (let n = 0; n < PROCESSES; n++) this.#processes.push(await this.#start())
      for (const each of plan) {
        await this.#take(each)
        step++
      }
      await this.#calm()
    } catch (error) {
      if (!(error instanceof Wrong)) throw error
      return this.#outcome(error.message, step)
    }
    return this.#outcome(null, step)
  }

  #outcome(wrong: string | null, step: number): Outcome {
    return { wrong, step, story: this.#story, calls: this.#calls, end: this.#before }
  }

  get #world(): World {
    const { turnstile, witness } = this
    return { store: this.#store, turnstile, witness, now: () => new Date(this.time.nowMs) }
  }

  async #start(): Promise<Process> {
    const process = await Process.start(`p${++this.#born}`, this.#world)
    await drain()
    return process
  }

  async #take(step: Step): Promise<void> {
    this.#tell(JSON.stringify(step))
    switch (step.do) {
      case 'ask':
        this.#asks.ask(this.#at(step.at), step.user, step.ask)
        break
      case 'again':
        this.#asks.again(this.#at(step.at), step.pick)
        break
      case 'connect':
        this.#connect(this.#at(step.at), `${step.user}:bot:chat`, step.acks)
        break
      case 'leave':
        this.#devices.splice(step.pick % Math.max(1, this.#devices.length), 1)[0]?.leave()
        break
      case 'acknowledge':
        this.#acknowledge(step.pick, step.times)
        break
      case 'run':
        return this.#let(step.calls, new Dice(step.dice), step.fate)
      case 'pass':
        this.time.pass(step.ms)
        break
      case 'jump':
        this.time.jump(step.ms)
        this.#backMs += Math.max(0, -step.ms)
        break
      case 'kill':
        return this.#replace(this.#at(step.at))
      case 'freeze':
        // One of them at least goes on.
        if (this.#frozen.size === 0) this.#frozen.add(this.#at(step.at))
        break
      case 'thaw':
        this.#frozen.clear()
    }
    await drain()
  }

  #at(number: number): Process {
    const process = this.#processes[number % this.#processes.length]
    if (process === undefined) throw new Error('there is no process')
    return process
  }

  /** Lets calls through, whichever the dice say. */
  async #let(count: number, dice: Dice, fate: Fate): Promise<void> {
    for (let n = 1; n <= count; n++) {
      const ready = this.turnstile.waiting.filter(
        ({ by }) => ![...this.#frozen].some((process) => process.mortal === by),
      )
      if (ready.length === 0) return
      await this.#go(dice.of(ready), n === count ? fate : 'done')
    }
  }

  async #go(call: Call, fate: Fate): Promise<void> {
    if (++this.#calls > CALLS_MAX) throw new Error('a simulation that does not end')
    this.#tell(`  ${call.by.name} ${call.what}${fate === 'done' ? '' : ` ${fate}`}`)
    await call.go(fate)
    await drain()
    await this.#check()
    const dead = this.#processes.find((process) => process.mortal.dead)
    if (dead !== undefined) await this.#replace(dead)
  }

  async #replace(dead: Process): Promise<void> {
    this.turnstile.bury(dead.mortal)
    this.#frozen.delete(dead)
    this.#asks.died(dead)
    for (const device of this.#devices.filter((each) => each.at === dead))
      this.#devices.splice(this.#devices.indexOf(device), 1)
    this.#processes[this.#processes.indexOf(dead)] = await this.#start()
  }

  async #check(): Promise<void> {
    const now = await this.#look()
    if (now === this.#before && this.witness.wrongs.length === 0) return
    this.#asks.look(now)
    const heard = this.#devices.map((device) => device.heard)
    for (const wrong of wrongs(this.#before ?? now, now, this.witness)) throw new Wrong(wrong)
    for (const wrong of outOfOrder(now, heard)) throw new Wrong(wrong)
    this.#before = now
  }

  async #look(): Promise<Snapshot> {
    const now = await this.#tables.look(this.turnstile.touched)
    this.turnstile.touched.clear()
    return now
  }

  #connect(at: Process, key: string, acks: boolean): void {
    const session = parseSessionKey(key)
    if (session === null) throw new Error(`not a session: ${key}`)
    const device: Device = {
      ...{ session, at, acks, unacknowledged: [], heard: [], leave: () => undefined },
    }
    const send = (text: string, flushed?: (error?: Error | null) => void) => {
      this.#hear(device, text)
      flushed?.(null)
    }
    const wire = { bufferedAmount: 0, readyState: 1, send, close: () => device.leave() }
    device.leave = at.channel.join(session, wire, { acks, eventsAfter: null, doneSeq: 0 })
    this.#devices.push(device)
  }

  #hear(device: Device, text: string): void {
    const { type, id, content } = JSON.parse(text) as Record<string, string>
    if (type !== 'message' && type !== 'agent_follow_up') return
    if (id === undefined || content === undefined) return
    this.witness.heardFrame(id, content)
    device.heard.push(id)
    if (device.acks) device.unacknowledged.push(id)
  }

  #acknowledge(pick: number, times: number): void {
    const waiting = this.#devices.filter((device) => device.unacknowledged.length > 0)
    const device = waiting[pick % Math.max(1, waiting.length)]
    const id = device?.unacknowledged.shift()
    if (device === undefined || id === undefined) return
    for (let n = 0; n < times; n++)
      device.at.channel.acknowledge(device.session, id).catch(() => undefined)
  }

  /** No more faults: everything due comes to its end, and everybody hears what was said to them. */
  async #calm(): Promise<void> {
    this.#tell('calm')
    this.#frozen.clear()
    for (const process of this.#processes.splice(1)) this.turnstile.bury(process.mortal)
    this.#devices.splice(0)
    this.#asks.endRecurring(this.#at(0))
    for (const ms of [this.#backMs + 1, ...CALM_MS]) {
      await this.#rest()
      for (const { key } of (await this.#look()).sessions)
        if (key.includes(':bot:') && !this.#devices.some(({ session }) => session.key === key))
          this.#connect(this.#at(0), key, true)
      await drain()
      await this.#rest()
      this.time.pass(ms)
      await drain()
    }
    await this.#rest()
    const known = await this.#look()
    const end = await this.#tables.whole()
    if (!isDeepStrictEqual(end, known)) throw new Error('a change was not seen')
    for (const wrong of unfinished(end, this.witness, this.time.nowMs)) throw new Wrong(wrong)
  }

  /** Lets everything through, first come first served, and acknowledges whatever comes. */
  async #rest(): Promise<void> {
    for (;;) {
      const [next] = this.turnstile.waiting
      if (next !== undefined) await this.#go(next, 'done')
      else if (this.#devices.some((device) => device.unacknowledged.length > 0)) {
        for (const [n] of this.#devices.entries()) this.#acknowledge(n, 1)
        await drain()
      } else return
    }
  }

  #tell(line: string): void {
    this.#story.push(line)
  }
}

class Wrong extends Error {}
