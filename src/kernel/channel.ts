/** How an effect leaves. A channel that holds connections asks for what its sessions have not heard yet. */
import type { Origin } from '../features/limits/lineage.ts'
import type { Reached, Receipt, Undelivered, Wanted } from '../features/sessions/effect-rows.ts'
import type { EventRow } from '../features/sessions/event-rows.ts'
import type { Reason } from '../features/sessions/gate.ts'

export interface Channel {
  readonly name: string
  /** Sessions with somebody listening, and from which position each wants to hear on; of `keys`, or all; in buckets that are asked about. */
  wanted(keys: readonly string[] | null, asked?: (bucket: number) => boolean): Wanted[]
  /** Hands over what was found; answers what was attempted. */
  offer(rows: readonly Undelivered[]): Receipt[]
  /** The same for those who watch the log itself: `after` is a seq. */
  watched(keys: readonly string[] | null, asked?: (bucket: number) => boolean): Wanted[]
  show(rows: readonly (EventRow & { bucket: number })[]): void
  /** How far each session with somebody listening has come. */
  reached(asked?: (bucket: number) => boolean): Reached[]
  /** The database no longer has what these sessions have heard: its listeners must connect again. */
  reconnect(keys: readonly string[]): void
}

/** A message on its way to a person who holds no connection. */
export interface Push {
  /** The same at every attempt. */
  readonly id: string
  readonly content: string
  readonly sessionKey: string
  /** Whom to reach. */
  readonly address: string
  readonly reason: Reason
  /** Long messages go out in parts; these have. */
  readonly partsSent: number
  /** From 1. */
  readonly attempt: number
  /** The channel's id of the message that this one answers, as it was heard; null: of none that came this way. */
  readonly answers: string | null
  /** The window is closed: only the channel's own words for that case go through. */
  readonly template: boolean
  /** To be offered beside the text, where the channel can; what is pressed comes back by `Inbox.heard`. */
  readonly buttons: readonly Button[]
}

/** `value` is what it stands for, as a person would write it. */
export interface Button {
  readonly label: string
  readonly value: string
}

/** A chat service: pushes messages without a connection of its own, and receives what people write there. */
export interface PushChannel {
  readonly name: string
  /** How long after they wrote it may be written to; always by default. */
  readonly windowMs?: number
  /** Others can write by it in a person's name: what came by it is marked so. */
  readonly origin?: Origin
  /** It has words for a closed window, and takes `template`. */
  readonly templated?: boolean
  /** It shows `Push.buttons`; without, what they would say stands in the text. */
  readonly buttons?: boolean
  /** Never throws. */
  send(push: Push, signal: AbortSignal): Promise<PushOutcome>
  /** One line of our own, such as the answer to a code: a courtesy that is not tried again. */
  say?(address: string, text: string): Promise<void>
  /** Answers what the vendor posts to `/v1/channels/{name}`. */
  receive?(request: ChannelRequest, inbox: Inbox): Promise<ChannelAnswer>
  /** What a person does with a code to link their address: a link to open, or words. */
  invite?(code: string): Promise<Invitation>
  /** Who knows an address owns it: no code is needed. */
  readonly provesItself?: boolean
  /** An address as it is kept; null: it is not an address of this channel. Left out, any text is one. */
  addressOf?(text: string): string | null
}

export interface Invitation {
  readonly url?: string
  readonly words: string
}

/** What a channel hands in. Each promise is kept when it is durable: a vendor is answered after it, never before. */
export interface Inbox {
  heard(message: Heard): Promise<void>
  /** The channel took a message and says now that it did not arrive. */
  failed(receipt: FailedReceipt): Promise<void>
  /** They want nothing more there. */
  stop(channel: string, address: string): Promise<void>
}

export interface Heard {
  readonly channel: string
  readonly address: string
  /** The vendor's own, unique in the channel: told twice, it counts once. */
  readonly id: string
  /** Null: something without text. */
  readonly text: string | null
  /** The channel's name for the message it answers to, or whose button was pressed. */
  readonly to?: string | null
}

export interface FailedReceipt {
  readonly channel: string
  readonly address: string
  /** The channel's name for the message. */
  readonly id: string
  readonly outcome: 'closed' | 'gone' | 'failed'
  readonly error: string
}

/** A vendor's webhook request to a channel, unparsed: signatures cover the raw bytes. */
export interface ChannelRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly query: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
  /** Signatures are good for a while from when they were made. */
  readonly now: Date
}

export interface ChannelAnswer {
  readonly status: number
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown
}

export function header({ headers }: ChannelRequest, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** Undefined where it is no JSON: the caller gets 400. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** What a channel says of one attempt. */
export type PushOutcome =
  /** `ids`: the channel's own names for what was sent at this attempt. */
  | { readonly type: 'sent'; readonly ids?: readonly string[] }
  | {
      readonly type: 'later'
      readonly waitMs: number
      readonly error: string
      readonly partsSent: number
      readonly ids?: readonly string[]
    }
  /** Nothing goes there before they write again. */
  | { readonly type: 'closed'; readonly error: string }
  /** This one will never go there. */
  | { readonly type: 'dropped'; readonly error: string }
  /** Nobody is there any more: the link ends. */
  | { readonly type: 'gone'; readonly error: string }
