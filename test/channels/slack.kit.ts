/** Slack: the Web API, and what people write by the Events API or by Socket Mode. */
import { createHmac } from 'node:crypto'
import { SlackChannel } from '../../packages/channels/slack/src/channel.ts'
import type { Stage } from '../setup/listening-app.ts'
import { type Kit, LATER_MS, type Refusal } from './laws.ts'
import { type Answered, GIANT, OWN, post, startVendor } from './vendor.ts'

const TOKEN = 'xoxb-a-token-that-never-may-be-logged'
const APP_TOKEN = 'xapp-another-one'
const SECRET = 'signing-secret-of-the-app'

const ANSWERS: Record<Refusal, Answered> = {
  later: { status: 429, headers: { 'retry-after': String(LATER_MS / 1000) } },
  gone: { body: { ok: false, error: 'channel_not_found' } },
  dropped: { body: { ok: false, error: 'msg_too_long' } },
  closed: {},
}

export function slackKit(socketMode: boolean): () => Promise<Kit> {
  return async () => {
    const sent: {
      channel: string
      text: string
      ts: string
      thread_ts?: string
      blocks?: unknown
    }[] = []
    const acked = new Map<string, () => void>()
    let attempts = 0
    let next = 1
    const vendor = await startVendor(
      async ({ path, headers, body }) => {
        const token = path === '/apps.connections.open' ? APP_TOKEN : TOKEN
        if (headers.authorization !== `Bearer ${token}`)
          return { body: { ok: false, error: 'invalid_auth' } }
        if (path === '/apps.connections.open') return { body: { ok: true, url: vendor.wsRoot } }
        if (path === '/conversations.open')
          return { body: { ok: true, channel: { id: `D${body.users}` } } }
        if (path !== '/chat.postMessage') return { body: { ok: false, error: 'unknown_method' } }
        if (!body.channel.startsWith('D'))
          return { body: { ok: false, error: 'channel_not_found' } }
        const said = unescaped(body.text)
        if (!OWN.test(said)) attempts++
        const refusal = kit.refuse(said)
        if (refusal !== null) return ANSWERS[refusal]
        const ts = `1700000000.${String(next++).padStart(6, '0')}`
        sent.push({ ...body, text: said, ts })
        await kit.taken(said)
        return { body: { ok: true, channel: body.channel, ts } }
      },
      (socket) => {
        socket.send(JSON.stringify({ type: 'hello' }))
        socket.on('message', (data) => {
          const { envelope_id: id } = JSON.parse(String(data))
          acked.get(id)?.()
        })
      },
    )
    const url = (s: Stage) => `${s.url}/v1/channels/slack`
    const event = (user: string, text: string, ts: string, more: object = {}) => ({
      type: 'event_callback',
      event_id: `Ev${ts}`,
      event: { type: 'message', channel_type: 'im', channel: `D${user}`, user, text, ts, ...more },
    })
    const tell = async (s: Stage, payload: object): Promise<number> => {
      if (!socketMode) return signed(s, JSON.stringify(payload))
      await s.settle()
      const line = await vendor.line()
      const id = `env${next++}`
      const taken = new Promise<void>((done) => acked.set(id, done))
      line.send(JSON.stringify({ type: 'events_api', envelope_id: id, payload }))
      await taken
      return 200
    }
    const signed = (
      s: Stage,
      body: string,
      secondsAgo = 0,
      secret = SECRET,
      shown = secondsAgo,
    ) => {
      const [at, told] = [secondsAgo, shown].map(
        (ago) => Math.floor(s.now().getTime() / 1000) - ago,
      )
      const mac = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex')
      const headers = {
        'x-slack-request-timestamp': String(told),
        'x-slack-signature': `v0=${mac}`,
      }
      return post(url(s), body, { 'content-type': 'application/json', ...headers })
    }
    const kit: Kit = {
      name: 'slack',
      env: {
        ...{ SLACK_BOT_TOKEN: TOKEN, SLACK_SIGNING_SECRET: SECRET, SLACK_API_ROOT: vendor.root },
        ...(socketMode ? { SLACK_APP_TOKEN: APP_TOKEN } : {}),
      },
      address: (n) => `U${1000 + n}`,
      arrived: (address) =>
        sent
          .filter(({ channel, text }) => channel === `D${address}` && !OWN.test(text))
          .map(({ text }) => text),
      attempts: () => attempts,
      refuse: () => null,
      taken: () => undefined,
      laterMs: LATER_MS,
      once: false,
      channel: () =>
        new SlackChannel({ token: TOKEN, signingSecret: SECRET, apiRoot: vendor.root }),
      async write(s, address, text, id = `1800000000.${String(next++).padStart(6, '0')}`) {
        return { id, status: await tell(s, event(address, text, id)) }
      },
      async answer(s, address, text) {
        const parent = sent.findLast(({ channel }) => channel === `D${address}`)?.ts
        await tell(s, event(address, text, `1900000000.${next++}`, { thread_ts: parent }))
        await s.settle()
        return sent.at(-1)?.thread_ts === parent
      },
      press: (s, address, value) =>
        signed(
          s,
          new URLSearchParams({
            payload: JSON.stringify({
              type: 'block_actions',
              user: { id: address },
              container: {
                message_ts: sent.findLast(
                  ({ channel, blocks }) => blocks !== undefined && channel === `D${address}`,
                )?.ts,
              },
              actions: [{ value, action_ts: `1950000000.${next++}` }],
            }),
          }).toString(),
        ),
      async forged(s, address, text) {
        const body = JSON.stringify(event(address, text, '1850000000.000001'))
        return [
          ['unsigned', await post(url(s), body, { 'content-type': 'application/json' })],
          ['wrong secret', await signed(s, body, 0, 'another')],
          ['old', await signed(s, body, 301)],
          ['from tomorrow', await signed(s, body, -301)],
          ['of no time', await signed(s, body, Number.NaN)],
          ['between two seconds', await signed(s, body, 0.5)],
          ['made young again', await signed(s, body, 301, SECRET, 0)],
          ['malformed', await signed(s, '{"type":')],
          ['giant', await signed(s, GIANT)],
        ]
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
}

const unescaped = (text: string) =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
