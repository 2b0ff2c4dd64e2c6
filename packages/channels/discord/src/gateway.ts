/**
 * The Gateway: hello, identify or resume, beats, and what people write. Where we are (session and number) is written after
 * each message is durable, so that the next holder of the connection resumes there.
 */
import { z } from 'zod'
import type { PackApp } from '../../../../src/app/pack.ts'
import { jsonOf } from '../../../../src/features/channels/request.ts'
import type { Heard } from '../../../../src/kernel/channel.ts'
import { ChannelLine, type Line, type Wire } from '../../hub/src/line.ts'
import { CHANNEL, type DiscordChannel } from './channel.ts'

/** Direct messages: needs no privilege. */
const INTENTS = 1 << 12
const AGAIN_MS = 5_000
const PATH = '/?v=10&encoding=json'

const frame = z.object({
  op: z.number(),
  d: z.unknown(),
  s: z.number().nullish(),
  t: z.string().nullish(),
})
const place = z.object({ session: z.string(), seq: z.number(), url: z.string() })
type Place = z.infer<typeof place>

const message = z.object({
  id: z.string(),
  author: z.object({ id: z.string(), bot: z.boolean().optional() }),
  content: z.string().catch(''),
  guild_id: z.string().optional(),
  message_reference: z.object({ message_id: z.string().optional() }).nullish(),
})
const press = z.object({
  id: z.string(),
  token: z.string(),
  type: z.literal(3),
  user: z.object({ id: z.string() }),
  message: z.object({ id: z.string() }),
  data: z.object({ custom_id: z.string() }),
})

interface Account {
  readonly token: string
  readonly leaseMs: number
}

export function gateway(
  channel: DiscordChannel,
  { token, leaseMs }: Account,
  { store, meter, inbox }: PackApp,
): ChannelLine {
  return new ChannelLine({
    account: { channel: CHANNEL, account: 'gateway' },
    db: store.commits,
    leaseMs,
    trouble: (error) => meter.trouble('discord', error),
    async dial(cursor) {
      const from = placeOf(cursor)
      const url = from?.url ?? (await gatewayUrl(channel))
      return new GatewayLine(`${url.replace(/\/+$/, '')}${PATH}`, token, from, {
        async take(heard) {
          await inbox.heard(heard)
        },
        pressed: (id, token) =>
          channel.pressed(id, token).catch((error: unknown) => meter.trouble('discord', error)),
      })
    },
  })
}

async function gatewayUrl(channel: DiscordChannel): Promise<string> {
  const { status, json } = await channel.ask('/gateway')
  const { url } = z.object({ url: z.string() }).safeParse(json).data ?? {}
  if (url === undefined) throw new Error(`Discord: answered ${status}`)
  return url
}

function placeOf(cursor: string | null): Place | null {
  return place.safeParse(jsonOf(cursor ?? '')).data ?? null
}

interface Ears {
  take(heard: Heard): Promise<void>
  pressed(id: string, token: string): Promise<void>
}

class GatewayLine implements Line {
  readonly url: string
  readonly #token: string
  readonly #ears: Ears
  #place: Place | null
  #seq: number | null
  #beat: NodeJS.Timeout | undefined
  /** The last beat was answered. */
  #alive = true

  constructor(url: string, token: string, from: Place | null, ears: Ears) {
    this.url = url
    this.#token = token
    this.#place = from
    this.#seq = from?.seq ?? null
    this.#ears = ears
  }

  ended(): void {
    clearInterval(this.#beat)
  }

  async take(told: unknown, wire: Wire): Promise<void> {
    const { op, d, s, t } = frame.parse(told)
    if (op === 10) this.#greet(d, wire)
    else if (op === 11) this.#alive = true
    else if (op === 1) wire.send({ op: 1, d: this.#seq })
    else if (op === 7) wire.end()
    else if (op === 9) await this.#invalid(d, wire)
    else if (op === 0) await this.#dispatch(t ?? '', d, s ?? 0, wire)
  }

  #greet(hello: unknown, wire: Wire): void {
    const { heartbeat_interval: ms } = z.object({ heartbeat_interval: z.number() }).parse(hello)
    clearInterval(this.#beat)
    this.#beat = setInterval(() => {
      if (!this.#alive) return wire.end()
      this.#alive = false
      wire.send({ op: 1, d: this.#seq })
    }, ms)
    const token = this.#token
    if (this.#place !== null) {
      const { session: session_id, seq } = this.#place
      wire.send({ op: 6, d: { token, session_id, seq } })
      return
    }
    const properties = { os: 'linux', browser: 'wakeful', device: 'wakeful' }
    wire.send({ op: 2, d: { token, intents: INTENTS, properties } })
  }

  /** `true`: it may be resumed all the same. */
  async #invalid(resumable: unknown, wire: Wire): Promise<void> {
    if (resumable !== true) await wire.advance(null)
    wire.end(AGAIN_MS)
  }

  async #dispatch(type: string, d: unknown, seq: number, wire: Wire): Promise<void> {
    if (type === 'READY') {
      const ready = z.object({ session_id: z.string(), resume_gateway_url: z.string() }).parse(d)
      this.#place = { session: ready.session_id, seq, url: ready.resume_gateway_url }
    } else if (type === 'MESSAGE_CREATE') await this.#said(d)
    else if (type === 'INTERACTION_CREATE') await this.#pressed(d)
    this.#seq = seq
    if (this.#place === null) return
    this.#place = { ...this.#place, seq }
    await wire.advance(JSON.stringify(this.#place))
  }

  /** A server has many people, and a session has one: only what is said to us alone. */
  async #said(d: unknown): Promise<void> {
    const said = message.safeParse(d)
    if (!said.success || said.data.guild_id !== undefined || said.data.author.bot) return
    const { id, author, content, message_reference: answered } = said.data
    const to = answered?.message_id ?? null
    const text = content === '' ? null : content
    await this.#ears.take({ channel: CHANNEL, address: author.id, id, text, to })
  }

  async #pressed(d: unknown): Promise<void> {
    const pressed = press.safeParse(d)
    if (!pressed.success) return
    const { id, token, user, message, data } = pressed.data
    const to = message.id
    await this.#ears.take({ channel: CHANNEL, address: user.id, id, text: data.custom_id, to })
    await this.#ears.pressed(id, token)
  }
}
