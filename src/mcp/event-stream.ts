/**
 * `events/stream`: what happens is told on the request that asked for it, for as long as that is open. It is polled behind the
 * door like every other question, so that a server elsewhere, and one behind a crash of ours, is followed the same way.
 */
import type { Operation } from '../api/contract.ts'

type Fields = Record<string, unknown>

interface StreamOptions {
  readonly ask: (op: Operation, args: Fields, signal: AbortSignal) => Promise<Fields>
  readonly poll: Operation
  readonly wish: Fields
  readonly cursor: string | null
  readonly maxAgeMs: number | null
  /** The request whose answer this is. */
  readonly requestId: string | number
  readonly signal: AbortSignal
  readonly notify: (notification: { method: string; params: Fields }) => Promise<void>
}

const LOOK_MS = 1_000
/** Says that nothing has happened, and up to where that is so. */
const HEARTBEAT_MS = 15_000
const STREAMS_MAX = 1_000
/** Credentials are looked at again with every request: a stream that ends is opened again from its cursor. */
const STREAM_MAX_MS = 10 * 60_000

/** The streams of a process, so that they end with their credentials, and with the process. */
export class OpenStreams {
  readonly #open = new Map<AbortController, string | null>()

  get full(): boolean {
    return this.#open.size >= STREAMS_MAX
  }

  /** `keyId`: whose key it was asked for with. */
  async run(keyId: string | null, options: StreamOptions): Promise<Fields> {
    const controller = new AbortController()
    this.#open.set(controller, keyId)
    try {
      const signal = AbortSignal.any([options.signal, controller.signal])
      return await stream({ ...options, signal })
    } finally {
      this.#open.delete(controller)
    }
  }

  /** Ends those of these keys; null: of all keys, and who still may comes again. */
  dismiss(keyIds: readonly string[] | null): void {
    for (const [controller, keyId] of this.#open)
      if (keyId !== null && (keyIds?.includes(keyId) ?? true)) controller.abort()
  }

  close(): void {
    for (const controller of this.#open.keys()) controller.abort()
  }
}

/** Ends when the client goes, or after a while. */
async function stream(options: StreamOptions): Promise<Fields> {
  const { ask, poll, wish, signal } = options
  const began = performance.now()
  let spoke = began
  const tell = async (what: string, params: Fields) => {
    spoke = performance.now()
    const _meta = { 'io.modelcontextprotocol/subscriptionId': options.requestId }
    await options.notify({ method: `notifications/events/${what}`, params: { ...params, _meta } })
  }
  let args: Fields = { ...wish, cursor: options.cursor, max_age_ms: options.maxAgeMs }
  let look = await ask(poll, args, signal)
  await tell('active', { cursor: look.cursor, truncated: look.truncated })
  for (;;) {
    for (const { event_id: eventId, ...event } of look.events as Fields[])
      await tell('event', { eventId, ...event })
    args = { ...wish, cursor: look.cursor }
    if (performance.now() - spoke >= HEARTBEAT_MS) await tell('heartbeat', { cursor: look.cursor })
    if (look.has_more !== true) await pause(signal)
    if (signal.aborted || performance.now() - began >= STREAM_MAX_MS) return { cursor: look.cursor }
    look = await ask(poll, args, signal)
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(end, LOOK_MS)
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      done()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}
