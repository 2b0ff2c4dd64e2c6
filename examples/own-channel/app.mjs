// A channel of your own: messages go to a relay by HTTP, and what people write there is posted to /v1/channels/relay.
import { agent } from 'wakeful'

const { RELAY_URL, RELAY_TOKEN } = process.env

const relay = {
  name: 'relay',
  async send({ id, address, content, attempt }) {
    const headers = { authorization: `Bearer ${RELAY_TOKEN}`, 'idempotency-key': id }
    const body = JSON.stringify({ to: address, text: content })
    const answer = await fetch(RELAY_URL, { method: 'POST', headers, body }).catch(() => null)
    if (answer?.ok) return { type: 'sent', ids: [id] }
    if (answer?.status === 410) return { type: 'gone', error: 'nobody is there any more' }
    return { type: 'later', waitMs: 1000 * 2 ** attempt, error: 'the relay is away', partsSent: 0 }
  },
  async receive({ headers, body }, inbox) {
    if (headers.authorization !== `Bearer ${RELAY_TOKEN}`) return { status: 401 }
    const { from, id, text } = JSON.parse(body)
    await inbox.heard({ channel: 'relay', address: from, id, text })
    return { status: 204 }
  },
}

const echo = agent(async (turn) => turn.say(`You said: ${turn.event.payload.text}`))
export default { agents: { echo }, channels: [relay] }
