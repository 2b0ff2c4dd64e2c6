/** The WebSocket of a session, with real clients on a running app (contract "WebSocket", rule 13). */
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { INSTANT, type Loose, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { Client, live, refused } from './live.ts'

const NOT_AN_ID = '0195f5a0-0000-7000-8000-00000000dead'

eachStore('the socket', (store) => {
  const at = live(store, {
    echo: (turn) => {
      const { text } = turn.event.payload as { text?: string }
      turn.say(`you said ${text}`)
    },
    nudge: (turn) => {
      if (turn.event.type === 'user_message') turn.schedule('n', { in: 0, cancelOnReply: true })
      else turn.say('still there?')
    },
    mute: () => undefined,
  })
  const open = (key: string, query = '') => Client.open(at().url, key, query)
  const effects = async (key: string): Promise<Loose[]> =>
    (await at().call('GET', `/v1/sessions/${key}/effects`)).body.data.filter(
      (effect: Loose) => effect.type === 'send_message',
    )
  const statuses = async (key: string) => (await effects(key)).map((effect) => effect.status)
  const becomes = (key: string, wanted: string[]) =>
    until(`${key} is ${wanted}`, async () => `${await statuses(key)}` === `${wanted}`)
  const post = (key: string, text: string) =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text })

  it('rule 13: sockets of a session that the database has set back are closed, and lose nothing that is said from then on', async () => {
    const key = 'ann:echo:back'
    const before = await open(key)
    const watching = await open(key, '?events=1&after_seq=1000')
    for (const text of ['one', 'two', 'three']) before.say(text)
    for (const { id } of await before.hears(3)) before.ack(id)
    await becomes(key, ['completed', 'completed', 'completed'])
    // Asked to begin far ahead of the log is not set back.
    await watching.roundTrip()
    expect(watching.closed).toBeNull()
    // As a standby that had not heard of them takes over.
    for (const table of ['effects', 'attempts', 'events'])
      await at().query(`delete from wakeful.${table} where session_key = $1`, [key])
    await at().query(
      `update wakeful.sessions set last_seq = 0, done_seq = 0, last_user_seq = 0, checkpoint_id = null where session_key = $1`,
      [key],
    )
    await until('they are closed', () => before.closed !== null && watching.closed !== null)
    expect([before.closed, watching.closed]).toEqual([1012, 1012])
    const after = await open(key)
    for (const text of ['four', 'five']) after.say(text)
    expect((await after.hears(2)).map(({ content }) => content)).toEqual([
      'you said four',
      'you said five',
    ])
    // Lost again, and as many have been said since: another message has the place of the last one.
    await at().query(
      'update wakeful.effects set id = gen_random_uuid() where session_key = $1 and event_seq = 2',
      [key],
    )
    await until('it is closed', () => after.closed !== null)
    expect(after.closed).toBe(1012)
  })

  it('contract: ready says how far the session is', async () => {
    const first = await open('ann:mute:ready')
    expect(first.frames).toEqual([{ type: 'ready', session_key: 'ann:mute:ready', last_seq: 0 }])
    await post('ann:mute:ready', 'hi')
    const second = await open('ann:mute:ready')
    expect(second.frames[0].last_seq).toBe(1)
  })

  it('contract: a message is answered by a message frame, exactly so', async () => {
    const client = await open('ann:echo:reply')
    client.say('hello')
    const [frame] = await client.hears(1)
    expect(frame).toEqual({
      type: 'message',
      id: expect.stringMatching(UUID),
      content: 'you said hello',
      in_reply_to: 1,
      created_at: expect.stringMatching(INSTANT),
    })
    expect((await effects('ann:echo:reply'))[0].id).toBe(frame.id)
  })

  it('contract: a message that answers nobody is an agent_follow_up that says where it came from', async () => {
    const client = await open('ann:nudge:follow')
    client.say('hello')
    const [frame] = await client.hears(1)
    expect(frame).toEqual({
      type: 'agent_follow_up',
      id: expect.stringMatching(UUID),
      content: 'still there?',
      origin: { kind: 'timer', id: expect.stringMatching(UUID) },
      created_at: expect.stringMatching(INSTANT),
    })
  })

  it('rule 13: an acknowledgement completes; without one it is under way, and pending when nobody is there', async () => {
    const key = 'ann:echo:ack'
    const client = await open(key)
    client.say('one')
    client.say('two')
    const [one] = await client.hears(2)
    await becomes(key, ['executing', 'executing'])
    client.ack(one.id)
    await becomes(key, ['completed', 'executing'])
    client.drop()
    await becomes(key, ['completed', 'pending'])
    const [, two] = await effects(key)
    expect(two).toMatchObject({ attempt_count: 1, last_attempt_at: expect.stringMatching(INSTANT) })
  })

  it('invariant 6: what was not acknowledged comes again on the next connection, in order, with the same ids', async () => {
    const key = 'ann:echo:again'
    const client = await open(key)
    for (const text of ['a', 'b', 'c', 'd']) client.say(text)
    const sent = await client.hears(4)
    client.ack(sent[1].id)
    await client.roundTrip()
    client.drop()
    const next = await open(key)
    const again = await next.hears(3)
    expect(again).toEqual([sent[0], sent[2], sent[3]])
    // An id that only the earlier connection was sent can be acknowledged, too.
    for (const frame of again) next.ack(frame.id)
    next.ack(sent[1].id)
    await becomes(key, Array(4).fill('completed'))
    await next.roundTrip()
    expect(next.of('error')).toEqual([])
    const last = await open(key)
    await last.roundTrip()
    expect(last.heard).toEqual([])
  })

  it('rule 13: replies to nobody stay pending and are delivered to whoever comes', async () => {
    const key = 'ann:echo:nobody'
    await post(key, 'one')
    await post(key, 'two')
    await becomes(key, ['pending', 'pending'])
    const client = await open(key)
    expect((await client.hears(2)).map((f) => f.content)).toEqual(['you said one', 'you said two'])
  })

  it('rule 13: with ack=none a flushed message is completed', async () => {
    const key = 'ann:echo:none'
    const client = await open(key, '?ack=none')
    client.say('one')
    await client.hears(1)
    await becomes(key, ['completed'])
    const next = await open(key)
    await next.roundTrip()
    expect(next.heard).toEqual([])
  })

  it('contract: all sockets of a session get each message, and the first acknowledgement completes it', async () => {
    const key = 'ann:echo:two'
    const [a, b] = [await open(key), await open(key)]
    a.say('hi')
    const [fromA] = await a.hears(1)
    const [fromB] = await b.hears(1)
    expect(fromB).toEqual(fromA)
    b.ack(fromB.id)
    await becomes(key, ['completed'])
    a.ack(fromA.id)
    await a.roundTrip()
    expect(a.of('error')).toEqual([])
    const late = await open(key)
    await late.roundTrip()
    expect(late.heard).toEqual([])
  })

  it('contract: with events=1 the log comes along, each event before its reply, none twice', async () => {
    const key = 'ann:echo:events'
    await post(key, 'before')
    const client = await open(key, '?events=1')
    const plain = await open(key)
    client.say('one')
    client.say('two')
    await client.hears(3)
    await client.until('two events', () => client.of('event').length >= 2)
    const listed = (await at().call('GET', `/v1/sessions/${key}/events`)).body.data
    expect(client.of('event').map((f) => f.event)).toEqual(listed.slice(1))
    const order = client.frames.map((f) => f.event?.seq ?? f.in_reply_to ?? f.type)
    for (const seq of [2, 3]) expect(order.indexOf(seq)).toBeLessThan(order.lastIndexOf(seq))
    await plain.roundTrip()
    expect(plain.of('event')).toEqual([])
  })

  it('contract: messages sent back to back keep their order', async () => {
    const key = 'ann:echo:order'
    const client = await open(key, '?ack=none')
    const texts = Array.from({ length: 40 }, (_, n) => `m${n}`)
    for (const text of texts) client.say(text)
    const heard = await client.hears(40)
    expect(heard.map((f) => f.content)).toEqual(texts.map((text) => `you said ${text}`))
    expect(heard.map((f) => f.in_reply_to)).toEqual(texts.map((_, n) => n + 1))
  })

  it('contract: the client id makes a user_message idempotent; another text gets an error frame', async () => {
    const key = 'ann:echo:ids'
    const client = await open(key)
    client.say('hi', 'c1')
    client.say('hi', 'c1')
    client.say('ho', 'c1')
    await client.until('an error', () => client.of('error').length === 1)
    await client.hears(1)
    await client.roundTrip()
    expect(client.heard).toHaveLength(1)
    expect((await at().call('GET', `/v1/sessions/${key}`)).body.last_seq).toBe(1)
  })

  describe('wrong frames', () => {
    it.each<[string, string | Buffer]>([
      ['rubbish', 'rubbish'],
      ['nothing', ''],
      ['a list', '[]'],
      ['null', 'null'],
      ['a number', '7'],
      ['binary', Buffer.from('{"type":"ping"}')],
      ['no type', '{"text":"hi"}'],
      ['an unknown type', '{"type":"shout","text":"hi"}'],
      ['a type that is none', '{"type":{},"text":"hi"}'],
      ['no text', '{"type":"user_message"}'],
      ['a blank text', '{"type":"user_message","text":" "}'],
      ['U+0000', '{"type":"user_message","text":"a\\u0000"}'],
      ['a lone surrogate', '{"type":"user_message","text":"a\\ud800"}'],
      ['a long text', `{"type":"user_message","text":"${'x'.repeat(32 * 1024 + 1)}"}`],
      ['an unknown field', '{"type":"user_message","text":"hi","session_key":"bea:echo:t"}'],
      ['a key twice', '{"type":"user_message","text":"a","text":"b"}'],
      ['an ack without id', '{"type":"ack"}'],
      ['an ack of a number', '{"type":"ack","id":7}'],
      ['an ack of no UUID', '{"type":"ack","id":"x\' or 1=1"}'],
      ['an ack of an unknown id', `{"type":"ack","id":"${NOT_AN_ID}"}`],
      ['an ack with more', `{"type":"ack","id":"${NOT_AN_ID}","all":true}`],
      ['a ping with more', '{"type":"ping","at":1}'],
      ['__proto__', '{"type":"user_message","__proto__":{"text":"hi"}}'],
    ])('contract: %s gets an error frame, and the socket stays', async (_, frame) => {
      const client = await open('ann:mute:wrong')
      client.socket.send(frame)
      await client.roundTrip()
      expect(client.of('error')).toEqual([
        { type: 'error', title: expect.any(String), errors: expect.any(Array) },
      ])
      const [{ title, errors }] = client.of('error')
      expect(title).not.toContain('our side')
      expect(errors.length).toBeGreaterThan(0)
      expect(client.closed).toBeNull()
      expect((await at().call('GET', '/v1/sessions/ann:mute:wrong')).status).toBe(404)
    })

    it('invariant 12: the id of another session is an unknown one, and completes nothing', async () => {
      const [ann, bea] = [await open('ann:echo:mine'), await open('bea:echo:hers')]
      ann.say('hi')
      const [frame] = await ann.hears(1)
      bea.ack(frame.id)
      await bea.roundTrip()
      expect(bea.of('error')).toHaveLength(1)
      expect(await statuses('ann:echo:mine')).not.toContain('completed')
    })

    it('contract: 64 KiB are taken, more is closed with 1009', async () => {
      const client = await open('ann:mute:big')
      client.send('{"type":"ping"}'.padEnd(64 * 1024))
      await client.until('pong', () => client.of('pong').length === 1)
      client.send('{"type":"ping"}'.padEnd(64 * 1024 + 1))
      await until('closed', () => client.closed !== null)
      expect(client.closed).toBe(1009)
    })

    it('a thousand frames at once are all answered, in order', async () => {
      const client = await open('ann:mute:many')
      for (let n = 0; n < 1000; n++) client.send(n % 2 ? { type: 'ping' } : { type: `t${n}` })
      await client.until('answers', (frames) => frames.length >= 1001)
      const kinds = client.frames.slice(1).map((f) => f.type)
      expect(kinds).toEqual(Array.from({ length: 1000 }, (_, n) => (n % 2 ? 'pong' : 'error')))
    })
  })

  describe('upgrades', () => {
    const socket = (key: string, query = '') => `/v1/sessions/${key}/socket${query}`

    it.each<[number, string, Record<string, string>]>([
      [403, socket('ann:echo:t'), { origin: 'https://evil.example' }],
      [403, socket('ann:echo:t'), { origin: 'null' }],
      [403, socket('ann:echo:t'), { host: 'evil.example' }],
      [422, socket('ann:echo'), {}],
      [422, socket('ann:echo:t%zz'), {}],
      [422, socket('ann:echo:t', '?ack=some'), {}],
      [422, socket('ann:echo:t', '?events=yes'), {}],
      [404, socket('ann:nobody:t'), {}],
      [404, socket('ann:echo:t'), { 'wakeful-act-as': 'bea' }],
      [422, socket('ann:echo:t'), { 'wakeful-act-as': 'not a user' }],
      [404, '/v1/sessions', {}],
      [404, '/', {}],
    ])('contract: %i for %s %o', async (status, path, headers) => {
      const answer = await refused(at().url, path, headers)
      expect(answer.status).toBe(status)
      expect(answer.body).toMatchObject({ status, request_id: expect.stringMatching(/.{8}/) })
      expect(answer.body.errors.length).toBeGreaterThan(0)
    })

    it('contract: pages of this machine and programs without an Origin come in', async () => {
      const headers = { origin: 'http://localhost:3000' }
      await expect(refused(at().url, socket('ann:mute:origin'), headers)).rejects.toThrow('let in')
      await open('ann:mute:origin')
    })

    it.each(['//', '/\\', '/v1/sessions/ann:echo:t/socket?%'])(
      'invariant 13: the address %s never gives 5xx',
      async (path) => {
        const { port, hostname } = new URL(at().url)
        const line = await new Promise<string>((done, fail) => {
          const raw = connect(Number(port), hostname, () => {
            raw.write(
              `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
            )
          })
          raw.once('data', (data) => {
            raw.destroy()
            done(String(data).split('\r\n')[0] ?? '')
          })
          raw.once('error', fail)
        })
        expect(line).toMatch(/^HTTP\/1\.1 (101|4\d\d) /)
      },
    )
  })
})
