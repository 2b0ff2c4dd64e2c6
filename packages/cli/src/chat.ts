/**
 * `wakeful chat <session_key>`: talk to an agent. What it says unasked appears as it comes. Lines from a pipe are said
 * one after the other, and the command ends when each was answered.
 */
import { createInterface } from 'node:readline'
import { Command } from 'commander'
import { WebSocket } from 'ws'
import {
  type AgentMessage,
  createClient,
  type SessionSocket,
  WakefulError,
} from '../../client/src/index.ts'
import { errorLines, UsageError } from './exit.ts'
import { type Screen, screen } from './screen.ts'
import { away, type Server, type ServerFlags, serverOf, withServer } from './server.ts'
import { plain } from './text.ts'

const WAIT_SECONDS = 60
const WAIT_SECONDS_MAX = 3_600
const LOOK_MS = 100

export function chatCommand(): Command {
  return withServer(
    new Command('chat')
      .description('talk to an agent; /quit ends it')
      .argument('<session_key>', 'user:agent:thread, such as me:companion:first')
      .option(
        '--wait <seconds>',
        'after the last line of a pipe, for answers',
        String(WAIT_SECONDS),
      ),
  ).action(chat)
}

async function chat(key: string, flags: ServerFlags & { wait: string }): Promise<void> {
  const seconds = Number(flags.wait)
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > WAIT_SECONDS_MAX)
    throw new UsageError(`--wait takes a whole number of seconds from 0 to ${WAIT_SECONDS_MAX}`)
  const server = serverOf(flags)
  const talk = new Talk(server, key, flags)
  try {
    await talk.open()
    await talk.listenTo(process.stdin)
    if (!talk.interactive) await talk.answered(seconds * 1000)
  } finally {
    talk.close()
  }
}

class Talk {
  readonly interactive = process.stdin.isTTY === true && process.stdout.isTTY === true
  readonly #server: Server
  readonly #key: string
  readonly #flags: ServerFlags
  readonly #out: Screen = screen()
  readonly #opened = deferred()
  /** Ends the conversation: the server closed the connection and will not accept another. */
  readonly #lost = deferred()
  readonly #said: Promise<void>[] = []
  #socket: SessionSocket | null = null
  #input: ReturnType<typeof createInterface> | null = null
  #last: unknown = null
  #closing = false

  constructor(server: Server, key: string, flags: ServerFlags) {
    this.#server = server
    this.#key = key
    this.#flags = flags
  }

  /** Waits until the first connection stands; a server that is away at the start ends it. */
  open(): Promise<void> {
    const { url, headers } = this.#server
    // Unlike a browser, this side can send its key along: no ticket is needed.
    class Keyed extends WebSocket {
      constructor(address: string) {
        super(address, { headers })
      }
    }
    const client = createClient({
      baseUrl: url,
      WebSocket: Keyed as never,
      ticket: async () => null,
    })
    this.#socket = client.connect(this.#key, {
      // Who types here is here.
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      onMessage: (message) => this.#hear(message),
      onError: (error) => this.#trouble(error),
      onState: (state) => this.#state(state),
    })
    return Promise.race([this.#opened.promise, this.#lost.promise])
  }

  #state(state: 'open' | 'waiting' | 'closed'): void {
    if (this.#closing) return
    if (state === 'open') {
      if (this.#opened.done) this.#note('connected again')
      this.#opened.resolve()
    } else if (!this.#opened.done || state === 'closed') {
      this.#lost.reject(this.#reason())
    } else this.#note('the connection is lost; trying again')
  }

  /** The refusal of an upgrade has a reason that only the API tells. */
  #reason(): unknown {
    const error = this.#last
    if (!(error instanceof WakefulError)) {
      const { message } = (error ?? {}) as { message?: unknown }
      const text = message === undefined ? 'no answer' : String(message)
      return away(new WakefulError(0, text, []), this.#server.url)
    }
    if (error.status === 404 || error.status === 422) {
      const wrong = `is there an agent "${this.#key.split(':')[1] ?? ''}" on this server, and is the key user:agent:thread?`
      return new WakefulError(error.status, `No conversation ${this.#key}`, [wrong])
    }
    if (error.status === 401 || error.status === 403)
      return new WakefulError(error.status, error.title, [
        'say who you are with --key or WAKEFUL_KEY',
      ])
    return away(error, this.#server.url)
  }

  #trouble(error: unknown): void {
    this.#last = error
    if (this.#opened.done && error instanceof WakefulError && !this.#closing)
      this.#note(errorLines(error).join('\n'))
  }

  #hear(message: AgentMessage): void {
    const { id, content, unasked, inReplyTo, origin, createdAt } = message
    if (this.#flags.json) {
      const line = { id, content, unasked, in_reply_to: inReplyTo, origin, created_at: createdAt }
      this.#out.json(line)
      return
    }
    const { paint } = this.#out
    const name = this.#key.split(':')[1] ?? 'agent'
    const who = unasked
      ? paint('yellow', `${name} (unasked${origin === null ? '' : `, ${plain(origin.kind)}`})>`)
      : paint('green', `${name}>`)
    this.#line(`${who} ${plain(content, 'lines')}`)
  }

  /** Above the line that somebody may be typing. */
  #line(text: string): void {
    if (this.interactive) this.#out.write('\r\u001B[K')
    this.#out.write(`${text}\n`)
    if (this.interactive) this.#input?.prompt(true)
  }

  #note(text: string): void {
    if (this.interactive) process.stderr.write('\r\u001B[K')
    this.#out.note(plain(text, 'lines'))
    if (this.interactive) this.#input?.prompt(true)
  }

  async listenTo(input: NodeJS.ReadStream): Promise<void> {
    const lines = createInterface({
      input,
      ...(this.interactive ? { output: process.stdout, prompt: 'you> ' } : {}),
      terminal: this.interactive,
    })
    this.#input = lines
    let quit = false
    const ended = new Promise<void>((done) => lines.once('close', done))
    lines.on('line', (line) => {
      // Lines that were read already still come after a close.
      if (quit) return
      quit = line.trim() === '/quit'
      if (quit) return lines.close()
      if (line.trim() !== '') this.#say(line)
      if (this.interactive) lines.prompt()
    })
    if (this.interactive) {
      this.#out.note(`${this.#key}: /quit or Ctrl-D ends it`)
      lines.prompt()
    }
    await Promise.race([ended, this.#lost.promise])
    if (this.interactive) this.#out.write('\n')
  }

  #say(text: string): void {
    const said = this.#socket?.say(text) ?? Promise.resolve()
    // Told by `#trouble` at once; whether all were taken is asked at the end.
    said.catch((error: unknown) => this.#trouble(error))
    this.#said.push(said)
  }

  /** Until everything said was taken, worked on, and what came of it delivered here. */
  async answered(ms: number): Promise<void> {
    const until = performance.now() + ms
    const outcomes = Promise.allSettled(this.#said)
    const settled = await Promise.race([
      outcomes,
      this.#lost.promise,
      new Promise<null>((done) => setTimeout(done, ms, null).unref()),
    ])
    if (!Array.isArray(settled)) throw new Error('what was said could not be handed over in time')
    const refused = settled.find((each) => each.status === 'rejected')
    if (refused !== undefined) throw refused.reason
    while (this.#said.length > 0 && performance.now() < until && !(await this.#quiet()))
      await new Promise((done) => setTimeout(done, LOOK_MS))
  }

  async #quiet(): Promise<boolean> {
    const { client } = this.#server
    const { last_seq, done_seq } = await client.session(this.#key)
    if (done_seq < last_seq) return false
    for (const status of ['pending', 'executing'] as const) {
      const { data } = await client.sessions.effects({ session_key: this.#key, status, limit: 1 })
      if (data.length > 0) return false
    }
    return true
  }

  close(): void {
    this.#closing = true
    this.#input?.close()
    this.#socket?.close()
  }
}

function deferred() {
  let finish: (error: unknown) => void = () => undefined
  const made = {
    done: false,
    promise: new Promise<void>((resolve, reject) => {
      finish = (error) => (error === undefined ? resolve() : reject(error))
    }),
    resolve: () => {
      made.done = true
      finish(undefined)
    },
    reject: (error: unknown) => finish(error),
  }
  // Only a caller that still waits needs the error.
  made.promise.catch(() => made)
  return made
}
