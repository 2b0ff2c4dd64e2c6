/** A client of a session's Server-Sent Events that remembers what it was told. */
import { type IncomingMessage, request } from 'node:http'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { until } from '../setup/until.ts'

const open = new Set<Events>()
afterEachTest(() => {
  for (const each of open) each.close()
  open.clear()
})

export class Events {
  readonly frames: Loose[] = []
  readonly ids: string[] = []
  text = ''
  closed = false
  readonly #answer: IncomingMessage

  constructor(answer: IncomingMessage) {
    this.#answer = answer
    answer.setEncoding('utf8')
    answer.on('data', (text: string) => {
      this.text += text
      for (let end = this.text.indexOf('\n\n'); end >= 0; end = this.text.indexOf('\n\n')) {
        this.#take(this.text.slice(0, end))
        this.text = this.text.slice(end + 2)
      }
    })
    answer.on('error', () => undefined)
    answer.on('close', () => {
      this.closed = true
    })
    open.add(this)
  }

  #take(block: string): void {
    for (const line of block.split('\n')) {
      if (line.startsWith('id: ')) this.ids.push(line.slice(4))
      if (line.startsWith('data: ')) this.frames.push(JSON.parse(line.slice(6)))
    }
  }

  get status(): number {
    return this.#answer.statusCode ?? 0
  }

  get headers(): IncomingMessage['headers'] {
    return this.#answer.headers
  }

  static async answer(url: string, headers: Record<string, string> = {}): Promise<Events> {
    return new Promise((done, fail) => {
      const asked = request(url, { headers }, (answer) => done(new Events(answer)))
      asked.on('error', fail).end()
    })
  }

  /** Connected, and greeted. */
  static async open(base: string, key: string, how: Opening = {}): Promise<Events> {
    const { query = '', lastId, headers = {} } = how
    const events = await Events.answer(`${base}/v1/sessions/${key}/stream${query}`, {
      ...headers,
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    })
    await until('ready', () => events.frames.length > 0)
    return events
  }

  of(type: string): Loose[] {
    return this.frames.filter((frame) => frame.type === type)
  }

  get heard(): Loose[] {
    return this.frames.filter((f) => f.type === 'message' || f.type === 'agent_follow_up')
  }

  async hears(count: number): Promise<Loose[]> {
    await until(`${count} messages`, () => this.heard.length >= count)
    return this.heard
  }

  pause(): void {
    this.#answer.pause()
  }

  close(): void {
    this.#answer.destroy()
  }
}

interface Opening {
  readonly query?: string
  readonly lastId?: string
  readonly headers?: Record<string, string>
}
