/**
 * The Gateway: hello, identify or resume, heartbeats, and what people write. The position (session and sequence number) is stored
 * after each message is durable, so the next process resumes there.
 */
import { z } from 'zod'
import type { PackApp } from '../../../../src/app/pack.ts'
import { type Heard, jsonOf } from '../../../../src/kernel/channel.ts'
import { ChannelConnection, type Connection, type FrameHandler } from '../../hub/src/connection.ts'
import { CHANNEL, type DiscordChannel } from './channel.ts'

/** Direct messages only: needs no privileged intent. */
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
): ChannelConnection {
  return new ChannelConnection({
    account: { channel: CHANNEL, account: 'gateway' },
    db: store.commits,
    leaseMs,
    trouble: (error) => meter.trouble('discord', error),
    async prepare(cursor) {
      const from = placeOf(cursor)
      const url = from?.url ?? (await gatewayUrl(channel))
      return new GatewayHandler(`${url.replace(/\/+$/, '')}${PATH}`, token, from, {
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

interface Listener {
  take(heard: Heard): Promise<void>
  pressed(id: string, token: string): Promise<void>
}

class GatewayHandler implements FrameHandler {
  readonly url: string
  readonly #token: string
  readonly #listener: Listener
  #place: Place | null
  #seq: number | null
  #heartbeat: NodeJS.Timeout | undefined
  /** The last heartbeat was answered. */
  #alive = true

  constructor(url: string, token: string, from: Place | null, listener: Listener) {
    this.url = url
    this.#token = token
    this.#place = from
    this.#seq = from?.seq ?? null
    this.#listener = listener
  }

  closed(): void {
    clearInterval(this.#heartbeat)
  }

  async take(told: unknown, connection: Connection): Promise<void> {
    const { op, d, s, t } = frame.parse(told)
    if (op === 10) this.#greet(d, connection)
    else if (op === 11) this.#alive = true
    else if (op === 1) connection.send({ op: 1, d: this.#seq })
    else if (op === 7) connection.end()
    else if (op === 9) await this.#invalid(d, connection)
    else if (op === 0) await this.#dispatch(t ?? '', d, s ?? 0, connection)
  }

  #greet(hello: unknown, connection: Connection): void {
    const { heartbeat_interval: ms } = z.object({ heartbeat_interval: z.number() }).parse(hello)
    clearInterval(this.#heartbeat)
    this.#heartbeat = setInterval(() => {
      if (!this.#alive) return connection.end()
      this.#alive = false
      connection.send({ op: 1, d: this.#seq })
    }, ms)
    const token = this.#token
    if (this.#place !== null) {
      const { session: session_id, seq } = this.#place
      connection.send({ op: 6, d: { token, session_id, seq } })
      return
    }
    const properties = { os: 'linux', browser: 'wakeful', device: 'wakeful' }
    connection.send({ op: 2, d: { token, intents: INTENTS, properties } })
  }

  /** `true`: the session can still be resumed. */
  async #invalid(resumable: unknown, connection: Connection): Promise<void> {
    if (resumable !== true) await connection.advance(null)
    connection.end(AGAIN_MS)
  }

  async #dispatch(type: string, d: unknown, seq: number, connection: Connection): Promise<void> {
    if (type === 'READY') {
      const ready = z.object({ session_id: z.string(), resume_gateway_url: z.string() }).parse(d)
      this.#place = { session: ready.session_id, seq, url: ready.resume_gateway_url }
    } else if (type === 'MESSAGE_CREATE') await this.#said(d)
    else if (type === 'INTERACTION_CREATE') await this.#pressed(d)
    this.#seq = seq
    if (this.#place === null) return
    this.#place = { ...this.#place, seq }
    await connection.advance(JSON.stringify(this.#place))
  }

  /** Only direct messages: a server has many people, and a session has one. */
  async #said(d: unknown): Promise<void> {
    const said = message.safeParse(d)
    if (!said.success || said.data.guild_id !== undefined || said.data.author.bot) return
    const { id, author, content, message_reference: answered } = said.data
    const to = answered?.message_id ?? null
    const text = content === '' ? null : content
    await this.#listener.take({ channel: CHANNEL, address: author.id, id, text, to })
  }

  async #pressed(d: unknown): Promise<void> {
    const pressed = press.safeParse(d)
    if (!pressed.success) return
    const { id, token, user, message, data } = pressed.data
    const to = message.id
    await this.#listener.take({ channel: CHANNEL, address: user.id, id, text: data.custom_id, to })
    await this.#listener.pressed(id, token)
  }
}
