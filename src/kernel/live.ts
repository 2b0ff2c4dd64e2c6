/**
 * What sockets see of a turn over a person's message before it commits: that somebody is typing, and text as it is written. Best
 * effort: frames are never stored, and the committed message replaces them.
 */
import type { LiveText } from '../agents/agent.ts'
import type { ClaimedTurn } from '../features/sessions/rows.ts'

/** `seq`: of the event that the turn is over, which is what the message will say it is in reply to. */
export type LiveFrame = Shown & {
  readonly key: string
  readonly seq: number
  /** Grows with each attempt and each retract: text of an older draft is dropped. */
  readonly draft: number
}

type Shown =
  | { readonly type: 'typing' | 'retract' }
  /** `at`: how many characters of the draft come before. */
  | { readonly type: 'delta'; readonly at: number; readonly text: string }

/** Shows frames: to the sockets of this process, or to those of the others. */
export interface LiveViewer {
  /** Somebody may be looking at this session. */
  watches(key: string): boolean
  showLive(frame: LiveFrame): void
}

export type Reach = 'here' | 'elsewhere' | 'everywhere'

export interface LiveHints {
  watches(key: string): boolean
  live(frame: LiveFrame, reach: Reach): void
}

/** Twenty times a second. */
const DELTA_MS = 50
const TYPING_MS = 5_000
/** More drafts than one attempt makes. */
const DRAFTS = 1_000_000
const HIGH_SURROGATE = /[\uD800-\uDBFF]$/

export class LiveTurn implements LiveText {
  readonly #claim: ClaimedTurn
  readonly #hints: LiveHints
  #text = ''
  #draft: number
  #shown = 0
  #shownMs = Number.NEGATIVE_INFINITY
  #typedMs = Number.NEGATIVE_INFINITY
  #isTyping = false
  #toldOthers = false
  #over = false

  constructor(claim: ClaimedTurn, hints: LiveHints) {
    this.#claim = claim
    this.#hints = hints
    const before = claim.attempt + claim.deaths
    this.#draft = before * DRAFTS
    if (before === 0) return
    // What an earlier attempt has shown is withdrawn: its process may have died.
    for (const { seq } of [claim, ...(claim.merged ?? [])])
      this.#send({ type: 'retract' }, 'everywhere', seq)
  }

  /** The agent is entered. Other processes hear of it at the next sweep: most turns have ended by then. */
  begin(nowMs: number): void {
    this.#isTyping = true
    this.#typedMs = nowMs
    if (this.watched) this.#send({ type: 'typing' }, 'here')
  }

  get watched(): boolean {
    return this.#hints.watches(this.#claim.session_key)
  }

  write(text: string): void {
    if (this.#over) return
    this.#text += text
    if (performance.now() - this.#shownMs >= DELTA_MS) this.#show()
  }

  retract(): void {
    if (this.#text === '') return
    this.#text = ''
    this.#draft++
    if (this.#shown > 0) this.#send({ type: 'retract' }, 'everywhere')
    this.#shown = 0
  }

  settle(text: string): void {
    if (!text.startsWith(this.#text)) this.retract()
    else if (this.#text.length > this.#shown) this.#show()
  }

  /** Called every 50 ms. */
  sweep(nowMs: number): void {
    if (!this.#isTyping || this.#over) return
    if (this.#text.length > this.#shown) this.#show()
    const again = nowMs - this.#typedMs >= TYPING_MS
    if (again) this.#typedMs = nowMs
    if (again) this.#send({ type: 'typing' }, 'everywhere')
    else if (!this.#toldOthers) this.#send({ type: 'typing' }, 'elsewhere')
    this.#toldOthers = true
    // For sockets that have come since, or missed something; the others have it.
    if (again && this.#shown > 0) this.#send(this.#shownText(), 'everywhere')
  }

  /** For a socket that has come since. */
  frames(): LiveFrame[] {
    if (this.#shown === 0) return []
    return [this.#frame({ type: 'retract' }), this.#frame(this.#shownText())]
  }

  /** What was shown is withdrawn unless it was committed. */
  end(isCommitted: boolean): void {
    if (!isCommitted) this.retract()
    this.#over = true
  }

  #show(): void {
    const at = this.#shown
    // Half of a surrogate pair waits for the other half.
    const end = this.#text.length - (HIGH_SURROGATE.test(this.#text) ? 1 : 0)
    if (end <= at) return
    this.#shown = end
    this.#shownMs = performance.now()
    this.#send({ type: 'delta', at, text: this.#text.slice(at, end) }, 'everywhere')
  }

  #shownText(): Shown {
    return { type: 'delta', at: 0, text: this.#text.slice(0, this.#shown) }
  }

  #send(frame: Shown, reach: Reach, seq?: number): void {
    this.#hints.live(this.#frame(frame, seq), reach)
  }

  #frame(frame: Shown, seq = this.#claim.seq): LiveFrame {
    return { ...frame, key: this.#claim.session_key, seq, draft: this.#draft }
  }
}

/** How much one socket has seen of the turn that runs. */
export class LiveView {
  #seq = 0
  #draft = 0
  #length = 0

  /** The frames as this socket gets them. `doneSeq`: it has what turns up to here have said. */
  take(frame: LiveFrame, doneSeq: number): string[] {
    const { seq, draft, ...shown } = frame
    const { type } = shown
    const isSame = seq === this.#seq
    const retract = JSON.stringify({ type: 'retract', turn: seq })
    if (seq < this.#seq) return type === 'retract' ? [retract] : []
    if (isSame && draft < this.#draft) return []
    if (type !== 'retract' && seq <= doneSeq) return []
    if (type === 'typing') return ['{"type":"typing"}']
    const isNewer = !isSame || draft > this.#draft
    // A retract that was lost on its way.
    const withdrawn = isSame && isNewer && this.#length > 0
    if (isNewer || type === 'retract') this.#length = 0
    this.#seq = seq
    this.#draft = draft
    if (shown.type !== 'delta') return [retract]
    // A delta was lost on its way: what follows it would be no beginning of the message.
    const text = shown.at > this.#length ? '' : shown.text.slice(this.#length - shown.at)
    this.#length += text.length
    const delta = text === '' ? [] : [JSON.stringify({ type: 'delta', turn: seq, text })]
    return withdrawn ? [retract, ...delta] : delta
  }
}

/** NOTIFY takes 8000 bytes. A character takes at most six of them as JSON. */
const PIECE_MAX = 1_000
const PAYLOAD_MAX_BYTES = 7_500

/** The frames in payloads that NOTIFY takes, in their order. */
export function payloadsOf(frames: readonly LiveFrame[]): LiveFrame[][] {
  const payloads: LiveFrame[][] = []
  let room = 0
  for (const piece of frames.flatMap(piecesOf)) {
    const bytes = Buffer.byteLength(JSON.stringify(piece)) + 1
    if (bytes > room) {
      payloads.push([])
      room = PAYLOAD_MAX_BYTES
    }
    room -= bytes
    payloads.at(-1)?.push(piece)
  }
  return payloads
}

function piecesOf(frame: LiveFrame): LiveFrame[] {
  if (frame.type !== 'delta' || frame.text.length <= PIECE_MAX) return [frame]
  const pieces: LiveFrame[] = []
  for (let start = 0; start < frame.text.length; ) {
    const cut = frame.text.slice(start, start + PIECE_MAX)
    const text = HIGH_SURROGATE.test(cut) ? cut.slice(0, -1) : cut
    pieces.push({ ...frame, at: frame.at + start, text })
    start += text.length
  }
  return pieces
}

/** As another process has sent it. */
export function isLiveFrame(value: unknown): value is LiveFrame {
  if (typeof value !== 'object' || value === null) return false
  const { key, seq, draft, type, at, text } = value as Record<string, unknown>
  if (typeof key !== 'string' || !Number.isSafeInteger(seq) || !Number.isSafeInteger(draft))
    return false
  if (type === 'typing' || type === 'retract') return true
  return type === 'delta' && Number.isSafeInteger(at) && typeof text === 'string'
}
