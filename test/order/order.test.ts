/**
 * Invariants 1, 2, 3 and 9 seen from outside: two processes whose connections are cut again and again, people who append and read, timers
 * that append, turns that read their state and append to it. All of it is one history, and no part of it is read from the tables.
 * `WAKEFUL_HISTORY=<file>` keeps it as EDN for Elle, and as JSON.
 */
import { writeFileSync } from 'node:fs'
import pg from 'pg'
import { expect, it } from 'vitest'
import { agent, type Turn } from '../../src/agents/function.ts'
import { newToken } from '../../src/core/ids.ts'
import { Refusal, type Wakeful, wakeful } from '../../src/index.ts'
import { afterEachTest } from '../setup/ends.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { check } from './checker.ts'
import { History, type Operation, toEdn, toJson } from './history.ts'

const USERS = ['ann', 'ben', 'cat']
const PEOPLE = 6
const ASKS = 12
const CUTS = 8

type End = (type: 'ok' | 'fail' | 'info', value?: readonly Operation[]) => void

/** Turns append to the list of what their session has done; whether they were committed, the next turn sees. */
class Turns {
  readonly #history: History
  readonly #open = new Map<string, { end: End; seen: readonly string[] }>()

  constructor(history: History) {
    this.#history = history
  }

  run(turn: Turn): void {
    const list = `${turn.session.key} done`
    const seen = (turn.state.seen ?? []) as string[]
    for (const run of seen) {
      const open = this.#open.get(run)
      open?.end('ok', [
        ['r', list, open.seen],
        ['append', list, run],
      ])
      this.#open.delete(run)
    }
    const run = newToken()
    const end = this.#history.invoke([
      ['r', list, null],
      ['append', list, run],
    ])
    this.#open.set(run, { end, seen })
    turn.state.seen = [...seen, run]
  }
}

/** Asked until it is answered: nobody knows before whether it happened. */
async function retryWhileUnavailable<T>(work: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'unavailable') throw error
      await new Promise((done) => setImmediate(done))
    }
}

interface Listed {
  readonly data: readonly {
    readonly payload: { readonly text?: string; readonly timer_id?: string }
  }[]
}

class People {
  readonly #history: History
  readonly #processes: readonly Wakeful[]
  #asked = 0

  constructor(history: History, processes: readonly Wakeful[]) {
    this.#history = history
    this.#processes = processes
  }

  async live(): Promise<void> {
    for (let n = 0; n < ASKS; n++) {
      const nth = this.#asked++
      const process = this.#processes[nth % this.#processes.length] as Wakeful
      const key = `${USERS[nth % USERS.length]}:bot:t`
      if (nth % 3 === 0) await this.read(process, key)
      else if (nth % 3 === 1) await this.say(process, key, `m${nth}`)
      else await this.#timer(process, key, `t${nth}`)
    }
  }

  async say(process: Wakeful, key: string, text: string): Promise<void> {
    const end = this.#history.invoke([['append', key, text]])
    await retryWhileUnavailable(() =>
      process.call('post_message', { session_key: key, text, id: text }),
    )
    end('ok')
  }

  async read(process: Wakeful, key: string): Promise<void> {
    const end = this.#history.invoke([['r', key, null]])
    const answer = await retryWhileUnavailable(async () => {
      try {
        return (await process.call('list_events', { session_key: key, limit: 500 })) as Listed
      } catch (error) {
        if (error instanceof Refusal && error.code === 'not_found') return { data: [] }
        throw error
      }
    })
    end('ok', [['r', key, answer.data.map(({ payload }) => payload.text ?? `${payload.timer_id}`)]])
  }

  /** It is appended by a clock, whenever, unless the person speaks first. */
  async #timer(process: Wakeful, session_key: string, timer_id: string): Promise<void> {
    this.#history.invoke([['append', session_key, timer_id]])
    // A second put after an unknown first would be a second event.
    await process
      .call('put_timer', { session_key, timer_id, delay_seconds: 0.01 })
      .catch((error: unknown) => {
        if (!(error instanceof Refusal) || error.code !== 'unavailable') throw error
      })
  }
}

/** Cuts every connection to the database, as a failover does. */
async function cut(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await client.end()
}

eachStore('order', (store) => {
  const open: Wakeful[] = []
  afterEachTest(async () => {
    await Promise.all(open.splice(0).map((each) => each.stop()))
  })

  it('invariants 1, 2, 3 and 9: what everybody saw can be put in one order of time', async () => {
    const history = new History()
    const turns = new Turns(history)
    const database = await store.database()
    const agents = { bot: agent((turn) => turns.run(turn)) }
    const env = { PORT: '0', LOG_LEVEL: 'silent' }
    // The embedded store has one process.
    for (let n = 0; n < (store.name === 'postgres' ? 2 : 1); n++)
      open.push(await wakeful({ database, agents, env }))
    for (const process of open) await process.start()
    const people = new People(history, open)
    let over = false
    const faults = async () => {
      for (let n = 0; n < CUTS && !over && store.name === 'postgres'; n++) {
        const before = history.entries.length
        await until('the next cut', () => over || history.entries.length > before + PEOPLE)
        await cut(database)
      }
    }
    const cutting = faults()
    await Promise.all(Array.from({ length: PEOPLE }, () => people.live()))
    over = true
    await cutting
    const [process] = open as [Wakeful]
    for (const user of USERS) {
      // Twice: the turn over the last message tells what became of the one before.
      for (const word of ['one', 'last']) await people.say(process, `${user}:bot:t`, word)
      await until('every turn has been', async () => {
        const head = (await process.call('get_session', { session_key: `${user}:bot:t` })) as {
          done_seq: number
          last_seq: number
        }
        return head.done_seq === head.last_seq
      })
      await people.read(process, `${user}:bot:t`)
    }
    const { entries } = history
    const file = globalThis.process.env.WAKEFUL_HISTORY
    if (file !== undefined) {
      writeFileSync(`${file}.${store.name}.edn`, toEdn(entries))
      writeFileSync(`${file}.${store.name}.json`, toJson(entries))
    }
    expect(check(entries)).toEqual([])
    expect(entries.filter(({ type }) => type === 'ok').length).toBeGreaterThan(PEOPLE * ASKS)
  })
})
