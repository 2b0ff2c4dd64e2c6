/** The embedded server killed again and again: what it acknowledged is there, once, in order. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { until } from '../setup/until.ts'
import { bareStore } from '../store/stores.ts'
import { folder, post, Server } from './server.ts'

const ROUNDS = 20
const SESSIONS = 4
const SEED = 20260101
/** Before a kill. */
const ANSWERS_MAX = 60
/** A round takes about a second, ten on a machine that is busy otherwise. Never fewer rounds instead. */
const TIMEOUT_MS = 600_000

/** Reproducible randomness (mulberry32): how much is done before each kill is the same in every run. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Callers that know nothing of the server but its answers; each writes down what was acknowledged. */
class Callers {
  readonly acknowledged = new Map<string, { key: string; seq: number }>()
  readonly unknown: { key: string; id: string }[] = []
  #count = 0
  #stopping = false

  async run(url: string): Promise<void> {
    this.#stopping = false
    await Promise.all(
      Array.from({ length: SESSIONS }, async (_, n) => {
        while (!this.#stopping) await this.#one(url, `user${n}:companion:t`, `m${++this.#count}`)
      }),
    )
  }

  stop(): void {
    this.#stopping = true
  }

  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.size + count
    await until(`${count} more answers`, () => this.acknowledged.size >= wanted)
  }

  /** Those whose answer never came are asked for again, as a careful client does. */
  async again(url: string): Promise<void> {
    for (const { key, id } of this.unknown.splice(0)) await this.#one(url, key, id)
  }

  async #one(url: string, key: string, id: string): Promise<void> {
    const answer = await post(url, key, { text: `text of ${id}`, id })
    if (answer === null || answer.status >= 500) {
      this.unknown.push({ key, id })
      // The server is gone: no use in calling on.
      if (answer === null) this.#stopping = true
    } else this.acknowledged.set(id, { key, seq: answer.seq })
  }
}

it(
  'invariants 1 and 9: killed twenty times with -9, every acknowledged message is there once, without a gap',
  async () => {
    const dir = join(folder(), 'data')
    const env = { DATABASE_URL: `pglite:${dir}`, LOG_LEVEL: 'error' }
    const next = random(SEED)
    const callers = new Callers()
    for (let round = 0; round < ROUNDS; round++) {
      const server = await Server.start(env)
      const calling = callers.again(server.url).then(() => callers.run(server.url))
      // Amid its work, however fast that goes.
      await callers.more(1 + Math.floor(next() * ANSWERS_MAX))
      callers.stop()
      expect((await server.end('SIGKILL')).signal).toBe('SIGKILL')
      await calling
    }
    const last = await Server.start(env)
    await callers.again(last.url)
    expect(callers.unknown).toEqual([])
    expect(await last.end('SIGTERM')).toEqual({ code: 0, signal: null })

    const { db } = await bareStore(`pglite:${dir}`)
    const events = await db.query<{ session_key: string; seq: number; client_id: string | null }>(
      'select session_key, seq, client_id from wakeful.events order by session_key, seq',
    )
    const found = new Map<string, { key: string; seq: number }[]>()
    const seqs = new Map<string, number[]>()
    for (const { session_key: key, seq, client_id } of events) {
      seqs.set(key, [...(seqs.get(key) ?? []), seq])
      if (client_id !== null) found.set(client_id, [...(found.get(client_id) ?? []), { key, seq }])
    }
    // Nothing acknowledged is missing, doubled, or under another number than was answered.
    for (const [id, where] of callers.acknowledged) expect(found.get(id), id).toEqual([where])
    expect(found.size).toBe(callers.acknowledged.size)
    for (const [key, all] of seqs) expect(all, key).toEqual(all.map((_, n) => n + 1))
    // The kills met a server at work, and not only one that was starting.
    expect(callers.acknowledged.size).toBeGreaterThan(ROUNDS)
  },
  TIMEOUT_MS,
)
