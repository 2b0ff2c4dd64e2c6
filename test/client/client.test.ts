/** The client against the real server: calls, errors, and a socket that survives being cut off. */
import { expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type AgentMessage, createClient, WakefulError } from '../../packages/client/src/index.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { world } from '../setup/worlds.ts'

const KEY = 'ann:bot:t1'

eachStore('the client', (store) => {
  it('speaks, listens, and hands on each message once across reconnects', async () => {
    const w = await world(store, {
      bot: (turn) => {
        if (turn.event.type === 'timer') return turn.say('still there?')
        turn.say(`heard ${(turn.event.payload as { text: string }).text}`)
        turn.schedule('nudge', { in: 60, cancelOnReply: true })
      },
    })
    const sockets: WebSocket[] = []
    class Watched extends WebSocket {
      constructor(url: string) {
        super(url)
        sockets.push(this)
      }
    }
    const client = createClient({ baseUrl: await w.listen(), WebSocket: Watched as never })
    const heard: AgentMessage[] = []
    const events: number[] = []
    const socket = client.connect(KEY, {
      onMessage: (message) => void heard.push(message),
      onEvent: (event) => events.push(event.seq),
    })
    socket.say('hello', 'm-1')
    await until('it is connected', () => sockets[0]?.readyState === WebSocket.OPEN)
    await until('the answer', async () => {
      await w.settle()
      return heard.length === 1
    })
    sockets[0]?.terminate()
    await w.advanceBy(60_000)
    await until(
      'it is connected again',
      () => sockets.length > 1 && sockets.at(-1)?.readyState === WebSocket.OPEN,
    )
    await until('the follow-up', async () => {
      await w.settle()
      return heard.length === 2
    })
    expect(heard.map((m) => [m.content, m.unasked, m.inReplyTo])).toEqual([
      ['heard hello', false, 1],
      ['still there?', true, null],
    ])
    expect(events).toContain(1)
    socket.close()
    const head = await client.session(KEY)
    expect(head).toMatchObject({
      last_seq: 2,
      done_seq: 2,
      gate: { allowed: false, reason: 'cooldown_active' },
    })
    await w.settle()
  })

  it('turns problems into errors with the server’s reasons', async () => {
    const w = await world(store, { bot: () => undefined })
    const client = createClient({ baseUrl: await w.listen() })
    const failed = await client.say(KEY, '   ').catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(WakefulError)
    expect(failed).toMatchObject({ status: 422, errors: [expect.stringContaining('text')] })
    await expect(client.session('no:bot:one')).rejects.toMatchObject({ status: 404 })
    await expect(client.preview('every weekday at 8:30', 'Europe/Berlin')).resolves.toMatchObject({
      canonical: '30 8 * * 1-5',
    })
    const { event } = await client.say(KEY, 'hi', 'm1')
    expect((await client.say(KEY, 'hi', 'm1')).event.id).toBe(event.id)
    expect((await client.events(KEY)).data).toHaveLength(1)
    await client.setTimer(KEY, 'later', { delay_seconds: 60 })
    expect((await client.session(KEY)).timers).toHaveLength(1)
    await client.cancelTimer(KEY, 'later')
  })

  it('calls every operation by its name, creates once under one key, and reads whole lists', async () => {
    const w = await world(store, { bot: () => undefined })
    const client = createClient({ baseUrl: await w.listen(), actAs: 'ann' })
    const alarm = { schedule: 'every day at 9am', wake_message: 'up', payload: { deep: [1] } }
    const set = await client.alarms.set(alarm, { idempotencyKey: 'key-1' })
    const again = await client.call('set_alarm', alarm, { idempotencyKey: 'key-1' })
    expect(again).toEqual(set)
    expect(set.next_fires).toHaveLength(3)
    await client.alarms.set(alarm)
    await client.alarms.set(alarm)
    const ids: string[] = []
    for await (const { id } of client.all('list_alarms', { limit: 2 })) ids.push(id)
    expect(ids).toHaveLength(3)
    expect(await client.alarms.cancel({ id: set.id })).toMatchObject({ status: 'cancelled' })
    expect((await client.alarms.list({ status: 'cancelled' })).data).toHaveLength(1)
    const { database } = await client.call('examine')
    expect(database.kind).toBe(store.name)
  })

  it('knows when what it said was taken, or why it was not', async () => {
    const w = await world(store, { bot: () => undefined })
    const client = createClient({ baseUrl: await w.listen(), WebSocket: WebSocket as never })
    const errors: unknown[] = []
    const socket = client.connect(KEY, {
      onMessage: () => undefined,
      onError: (error) => errors.push(error),
    })
    await socket.say('one', 'm1')
    await socket.say('one', 'm1')
    await expect(socket.say('two', 'm1')).rejects.toThrow('with another text')
    await socket.say('three')
    expect((await client.events(KEY)).data.map(({ payload }) => payload)).toEqual([
      { text: 'one' },
      { text: 'three' },
    ])
    expect(errors).toHaveLength(1)
    socket.close()
    await w.settle()
  })
})
