/** Discord: messages by HTTP, each nonce once, and what people write over a Gateway that can be resumed. */
import { DiscordChannel } from '../../packages/channels/discord/src/channel.ts'
import type { Loose } from '../setup/http.ts'
import type { Stage } from '../setup/listening-app.ts'
import { until } from '../setup/until.ts'
import { type Kit, LATER_MS, type Refusal } from './laws.ts'
import { type Answered, OWN, startVendor } from './vendor.ts'

const TOKEN = 'a.bot.token-that-never-may-be-logged'
const ANSWERS: Record<Refusal, Answered> = {
  later: { status: 429, body: { message: 'slow', retry_after: LATER_MS / 1000, global: false } },
  gone: { status: 403, body: { code: 50_007, message: 'Cannot send messages to this user' } },
  dropped: { status: 400, body: { code: 50_035, message: 'Invalid Form Body' } },
  closed: {},
}

export async function discordKit(): Promise<Kit> {
  const sent: {
    channel: string
    content: string
    id: string
    nonce?: string
    components?: unknown
  }[] = []
  const log: { s: number; t: string; d: Loose }[] = []
  const nonces: { channel: string; nonce: string }[] = []
  let attempts = 0
  let next = 1
  let seq = 0
  const vendor = await startVendor(
    async ({ path, headers, body }) => {
      if (headers.authorization !== `Bot ${TOKEN}`) return { status: 401, body: { message: 'no' } }
      if (path === '/gateway') return { body: { url: vendor.wsRoot } }
      if (path === '/users/@me/channels') return { body: { id: `9${body.recipient_id}` } }
      if (path.startsWith('/interactions/')) return { status: 204 }
      const channel = /^\/channels\/(\d+)\/messages$/.exec(path)?.[1]
      if (channel === undefined) return { status: 404, body: { code: 10_003, message: 'Unknown' } }
      if (!OWN.test(body.content)) attempts++
      const refusal = kit.refuse(body.content)
      if (refusal !== null) return ANSWERS[refusal]
      if (body.nonce?.length > 25) return ANSWERS.dropped
      const before = sent.find(({ nonce }) => body.enforce_nonce && nonce === body.nonce)
      nonces.push({ channel, nonce: body.nonce })
      if (before !== undefined) return { body: { id: before.id } }
      const id = `70000000000000${next++}`
      const { content, nonce, components } = body
      sent.push({ channel, content, id, nonce, components })
      await kit.taken(content)
      return { body: { id } }
    },
    (socket) => {
      const send = (frame: object) => socket.send(JSON.stringify(frame))
      send({ op: 10, d: { heartbeat_interval: 41_250 } })
      socket.on('message', (data) => {
        const { op, d } = JSON.parse(String(data))
        if (op === 1) return send({ op: 11 })
        if (d?.token !== TOKEN) return socket.close(4004)
        if (op === 2) {
          const ready = { session_id: 'one', resume_gateway_url: vendor.wsRoot }
          return send({ op: 0, t: 'READY', s: ++seq, d: ready })
        }
        if (op !== 6) return
        for (const missed of log.filter(({ s }) => s > d.seq)) send({ op: 0, ...missed })
        send({ op: 0, t: 'RESUMED', s: seq, d: {} })
      })
    },
  )
  const dispatch = async (s: Stage, t: string, d: Loose) => {
    await s.settle()
    const line = await vendor.line()
    const told = { s: ++seq, t, d }
    log.push(told)
    line.send(JSON.stringify({ op: 0, ...told }))
    // It is durable when the place after it is.
    await until('the place after it is written', async () => {
      const [row] = await s.query(
        `select cursor from wakeful.channel_readers where channel = 'discord'`,
      )
      return row?.cursor != null && JSON.parse(row.cursor).seq >= told.s
    })
  }
  const newest = (address: string) =>
    sent.findLast(({ channel, components }) => components && channel === `9${address}`)?.id
  const kit: Kit = {
    name: 'discord',
    env: { DISCORD_BOT_TOKEN: TOKEN, DISCORD_API_ROOT: vendor.root },
    address: (n) => String(800_000_000_000_000 + n),
    arrived: (address) =>
      sent
        .filter(({ channel, content }) => channel === `9${address}` && !OWN.test(content))
        .map(({ content }) => content),
    attempts: () => attempts,
    handles: (address) =>
      nonces.filter(({ channel }) => channel === `9${address}`).map(({ nonce }) => nonce),
    refuse: () => null,
    taken: () => undefined,
    laterMs: LATER_MS,
    once: true,
    channel: () => new DiscordChannel({ token: TOKEN, apiRoot: vendor.root }),
    async write(s, address, content, id = `60000000000000${next++}`) {
      const author = { id: address, username: 'ann' }
      await dispatch(s, 'MESSAGE_CREATE', { id, author, content, channel_id: `9${address}` })
      return { id, status: 200 }
    },
    async away(address, content) {
      const line = await vendor.line()
      // As the vendor asks for it: the other side lays a new line at once, and says from where on.
      const d = { id: `60000000000000${next++}`, author: { id: address }, content }
      log.push({ s: ++seq, t: 'MESSAGE_CREATE', d })
      line.send(JSON.stringify({ op: 7 }))
      await new Promise((done) => line.once('close', done))
    },
    async press(s, address, value) {
      await dispatch(s, 'INTERACTION_CREATE', {
        ...{ id: `60000000000000${next++}`, token: 'once', type: 3, user: { id: address } },
        ...{ message: { id: newest(address) }, data: { custom_id: value } },
      })
      return 200
    },
    reset: () => {
      sent.splice(0)
      attempts = 0
      kit.refuse = () => null
    },
    stop: () => vendor.stop(),
  }
  return kit
}
