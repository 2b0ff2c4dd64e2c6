/** The live line to one session. Connects again by itself; says in which state it is. */
import { request } from './http.ts'
import { shownKey } from './key.ts'
import type { SessionEvent } from './shapes.ts'

export type Frame =
  | { readonly type: 'ready'; readonly last_seq: number }
  | { readonly type: 'message'; readonly id: string }
  | { readonly type: 'agent_follow_up'; readonly id: string }
  | { readonly type: 'event'; readonly event: SessionEvent }
  | { readonly type: 'pong' }
  | { readonly type: 'error'; readonly title: string; readonly errors: readonly string[] }

export type Line =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  | { readonly state: 'away'; readonly retryAt: number }

interface Listener {
  readonly onFrame: (frame: Frame) => void
  readonly onLine: (line: Line) => void
  /** Reads without acknowledging: what is seen stays undelivered for the session's own reader. */
  readonly watches: boolean
  /** The person one acts as, where that is somebody else: it stands in the audit log. */
  readonly actAs: string | undefined
}

const RETRY_MIN_MS = 500
const RETRY_MAX_MS = 10_000
const PING_MS = 20_000

/** Returns what ends it. */
export function openLine(key: string, listener: Listener): () => void {
  let socket: WebSocket | null = null
  let retry: ReturnType<typeof setTimeout> | undefined
  let wait = RETRY_MIN_MS
  let heard = true
  let ended = false

  const again = () => {
    if (ended) return
    const pause = wait * (0.75 + Math.random() / 2)
    wait = Math.min(wait * 2, RETRY_MAX_MS)
    listener.onLine({ state: 'away', retryAt: Date.now() + pause })
    retry = setTimeout(connect, pause)
  }
  const connect = () => {
    listener.onLine({ state: 'connecting' })
    ticketed(listener.actAs).then((ticket) => {
      if (!ended) open(ticket)
    }, again)
  }
  const open = (ticket: string | null) => {
    const opened = new WebSocket(addressOf(key, ticket, listener.watches))
    socket = opened
    opened.onmessage = ({ data }) => {
      heard = true
      const frame = JSON.parse(String(data)) as Frame
      if (frame.type === 'ready') {
        wait = RETRY_MIN_MS
        listener.onLine({ state: 'live' })
      }
      if (isMessage(frame) && !listener.watches) {
        opened.send(JSON.stringify({ type: 'ack', id: frame.id }))
      }
      listener.onFrame(frame)
    }
    opened.onclose = again
  }
  // A line can break without a word: silence after a ping means that it did.
  const pinging = setInterval(() => {
    if (socket?.readyState !== WebSocket.OPEN) return
    if (!heard) socket.close()
    else socket.send('{"type":"ping"}')
    heard = false
  }, PING_MS)

  connect()
  return () => {
    ended = true
    clearTimeout(retry)
    clearInterval(pinging)
    socket?.close()
  }
}

function isMessage(frame: Frame): frame is Frame & { id: string } {
  return frame.type === 'message' || frame.type === 'agent_follow_up'
}

/** A browser sends no header with a socket: a key is exchanged for a ticket that may stand in the address. */
async function ticketed(actAs: string | undefined): Promise<string | null> {
  if (shownKey() === null && actAs === undefined) return null
  return (await request<{ ticket: string }>('v1/tickets', { method: 'POST', actAs })).ticket
}

function addressOf(key: string, ticket: string | null, watches: boolean): string {
  const url = new URL(`v1/sessions/${encodeURIComponent(key)}/socket?events=1`, document.baseURI)
  if (watches) url.searchParams.set('watch', '1')
  if (ticket !== null) url.searchParams.set('ticket', ticket)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  url.hash = ''
  return url.href
}
