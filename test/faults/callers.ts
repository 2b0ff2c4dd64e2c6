/** Callers that know nothing of the servers but their answers. What was acknowledged goes into their own file. */
import { until } from '../setup/until.ts'
import type { Acknowledged, Witness } from './witness.ts'

const TEXT = { method: 'POST', headers: { 'content-type': 'application/json' } }
/** For an answer; beyond it the caller asks again, as a careful client does. */
const PATIENCE_MS = 30_000

export class Callers {
  readonly #witness: Witness<Acknowledged>
  readonly #urls: () => readonly string[]
  #count = 0
  #turn = 0
  #stopping = false
  #running: Promise<unknown> = Promise.resolve()
  acknowledged = 0
  /** Asked again, because no answer came or the server said "later". */
  retried = 0

  /** `urls`: where servers are at the moment. */
  constructor(witness: Witness<Acknowledged>, urls: () => readonly string[]) {
    this.#witness = witness
    this.#urls = urls
  }

  /** Says something until it is acknowledged; the same id each time. */
  async say(key: string, text = 'hello', id = `m${++this.#count}`): Promise<number> {
    const answer = await until(`${id} of ${key} is acknowledged`, async () => {
      const got = await this.once(key, text, id)
      if (got === null || got.status >= 500) this.retried++
      else return got
      return null
    })
    if (answer.status !== 200 && answer.status !== 202)
      throw new Error(`${id} of ${key} was answered with ${answer.status}`)
    this.#witness.saw({ id, key, seq: answer.seq })
    this.acknowledged++
    return answer.seq
  }

  async once(
    key: string,
    text: string,
    id: string,
  ): Promise<{ status: number; seq: number } | null> {
    const urls = this.#urls()
    const url = urls[this.#turn++ % Math.max(1, urls.length)]
    if (url === undefined) return null
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS)
      const body = JSON.stringify({ text, id })
      const answer = await fetch(`${url}/v1/sessions/${key}/messages`, { ...TEXT, body, signal })
      const json = (await answer.json()) as { event?: { seq: number } }
      return { status: answer.status, seq: json.event?.seq ?? 0 }
    } catch {
      return null
    }
  }

  /** Each of these sessions is spoken to, one message after the other, until `stop`. */
  flood(keys: readonly string[], text = 'hello'): void {
    this.#stopping = false
    this.#running = Promise.all(
      keys.map(async (key) => {
        while (!this.#stopping) await this.say(key, text)
      }),
    )
    // Whoever stops them hears of it.
    this.#running.catch(() => undefined)
  }

  async more(count: number): Promise<void> {
    const wanted = this.acknowledged + count
    await Promise.race([
      until(`${count} more answers`, () => this.acknowledged >= wanted),
      // Ends early only by failing.
      this.#running.then(() => new Promise<never>(() => undefined)),
    ])
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await this.#running
  }
}
