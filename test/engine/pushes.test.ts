/** Pushes to any channel: a session says in its row where its messages go, and only who reaches it takes them. */
import { beforeEach, expect, it } from 'vitest'
import { makeLink } from '../../packages/channels/hub/src/link-rows.ts'
import { claimPushes, settlePush } from '../../packages/channels/hub/src/push-rows.ts'
import { PushesService } from '../../packages/channels/hub/src/pushes.ts'
import { newId } from '../../src/core/ids.ts'
import type { Push, PushChannel, PushOutcome } from '../../src/kernel/channel.ts'
import type { DeliveryRecord, Meter } from '../../src/kernel/meter.ts'
import { SILENT } from '../../src/kernel/service.ts'
import { Client } from '../sessions/live.ts'
import { eachStore } from '../setup/stores.ts'
import { until } from '../setup/until.ts'
import { ref, type World, world } from '../setup/worlds.ts'

const ANN = 'ann:bot:t'
const BEA = 'bea:bot:t'
const LEASE_MS = 30_000

class Recorded implements PushChannel {
  readonly got: string[] = []
  outcome: PushOutcome = { type: 'sent' }
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  async send({ sessionKey, address, content }: Push): Promise<PushOutcome> {
    this.got.push(`${sessionKey} to ${address}: ${content}`)
    return this.outcome
  }
}

const told: DeliveryRecord[] = []
const meter = {
  trouble() {},
  leasesLost() {},
  delivery: (record: DeliveryRecord) => told.push(record),
} as unknown as Meter
beforeEach(() => told.splice(0))

function pushes({ app }: World, channels: readonly PushChannel[]) {
  const { engine: claims, commits } = app.store
  const service = new PushesService({
    ...{ channels, claims, commits, leaseMs: LEASE_MS, meter, moments: SILENT },
  })
  return async () => {
    const { did } = await service.tick()
    await service.settle()
    return did
  }
}

const link = ({ app }: World, key: string, to: string, person = false) => {
  const [, channel = '', address = ''] = /^(\w+):(.*)$/.exec(to) ?? []
  const made = { session: ref(key), channel, address, person, heard: false }
  return app.store.commits.tx((tx) => makeLink(tx, made))
}

const pushedTo = async (w: World) =>
  (
    await w.query<{ pushed_to: string | null }>(
      'select pushed_to from wakeful.sessions order by session_key',
    )
  ).map((row) => row.pushed_to)

eachStore('pushes', (store) => {
  const open = () => world(store, { bot: (turn) => turn.say('hello') })

  it('go to the channel and the address that the session names, what waited before included', async () => {
    const w = await open()
    const [paper, bell] = [new Recorded('paper'), new Recorded('bell')]
    const push = pushes(w, [paper, bell])
    await w.say(ANN, 'hi')
    await w.settle()
    await link(w, ANN, 'paper:door 7:left')
    await link(w, BEA, 'bell:')
    await w.say(BEA, 'hi')
    await w.settle()
    expect(await push()).toBe(2)
    expect(paper.got).toEqual([`${ANN} to door 7:left: hello`])
    expect(bell.got).toEqual([`${BEA} to : hello`])
  })

  it('wait for a process that has their channel', async () => {
    const w = await open()
    await link(w, ANN, 'paper:1')
    await w.say(ANN, 'hi')
    await w.settle()
    expect(await pushes(w, [new Recorded('bell')])()).toBe(0)
    const paper = new Recorded('paper')
    expect(await pushes(w, [paper])()).toBe(1)
    expect(paper.got).toHaveLength(1)
  })

  it('invariant 5: one that was sent under a lost lease settles nothing', async () => {
    const w = await open()
    await link(w, ANN, 'paper:1')
    await w.say(ANN, 'hi')
    await w.settle()
    const { engine: claims } = w.app.store
    const [lost, living] = [newId(), newId()]
    const [late] = (await claimPushes(claims, ['paper'], 1, LEASE_MS, lost)).pushes
    await w.advanceBy(LEASE_MS)
    expect((await claimPushes(claims, ['paper'], 1, LEASE_MS, living)).pushes).toHaveLength(1)
    const settled = (token: string) =>
      settlePush(
        claims,
        {
          ...{ bucket: ref(ANN).bucket, key: ANN, position: late?.position ?? 0, token },
          ...{ channel: 'paper', outcome: 'sent', waitMs: 0, partsSent: 0, error: null },
          ...{ tried: true, since: w.now() },
        },
        [],
      )
    expect(await settled(lost)).toBe(false)
    expect(await settled(living)).toBe(true)
  })

  it('end where nobody is any more; what waits goes by the next link that is made', async () => {
    const w = await open()
    const [paper, bell] = [new Recorded('paper'), new Recorded('bell')]
    paper.outcome = { type: 'gone', error: 'moved away' }
    const push = pushes(w, [paper, bell])
    await link(w, ANN, 'paper:1')
    await w.say(ANN, 'hi')
    await w.settle()
    expect(await push()).toBe(1)
    expect(await pushedTo(w)).toEqual([null])
    const [effect] = await w.query('select status, due_at, last_error from wakeful.effects')
    expect(effect).toEqual({ status: 'pending', due_at: null, last_error: 'moved away' })
    expect(told).toMatchObject([{ result: 'given_up', error: 'moved away', attempt: 1 }])

    await link(w, ANN, 'bell:2')
    expect(await pushedTo(w)).toEqual(['bell:2'])
    expect(await push()).toBe(1)
    expect(bell.got).toEqual([`${ANN} to 2: hello`])
  })

  const shown = (w: World) =>
    w.call('list_effects', { session_key: ANN }).then((list) => (list as { data: object[] }).data)

  it('show the channel that delivered, and each outcome is told once, with what it was born of', async () => {
    const w = await open()
    const paper = new Recorded('paper')
    const push = pushes(w, [paper])
    await link(w, ANN, 'paper:1')
    await w.say(ANN, 'hi')
    await w.settle()
    expect(await shown(w)).toMatchObject([{ status: 'pending', channel: null, last_error: null }])
    paper.outcome = { type: 'later', waitMs: 1_000, error: 'no ink', partsSent: 0 }
    await push()
    expect(await shown(w)).toMatchObject([
      { status: 'pending', channel: null, attempt_count: 1, last_error: 'no ink' },
    ])
    await w.advanceBy(1_000)
    paper.outcome = { type: 'sent' }
    await push()
    const [effect] = (await shown(w)) as [{ id: string }]
    expect(effect).toMatchObject({
      ...{ status: 'completed', channel: 'paper', attempt_count: 2, last_error: null },
    })
    const common = {
      channel: 'paper',
      sessionKey: ANN,
      eventSeq: 1,
      reason: 'answer',
      id: effect.id,
    }
    expect(told).toMatchObject([
      { ...common, result: 'failed', error: 'no ink', attempt: 1 },
      { ...common, result: 'taken', error: null, attempt: 2 },
    ])
  })

  it('refused for good are failed and not tried again; a socket still gets them, and its word is the last', async () => {
    const w = await open()
    const paper = new Recorded('paper')
    paper.outcome = { type: 'dropped', error: 'too rude' }
    const push = pushes(w, [paper])
    await link(w, ANN, 'paper:1')
    await w.say(ANN, 'hi')
    await w.settle()
    expect(await push()).toBe(1)
    const failed = { status: 'failed', channel: null, attempt_count: 1, last_error: 'too rude' }
    expect(await shown(w)).toMatchObject([failed])
    expect(told).toMatchObject([{ result: 'given_up', error: 'too rude' }])
    await w.advanceBy(86_400_000)
    expect(await push()).toBe(0)
    const client = await Client.open(await w.listen(), ANN)
    await w.settle()
    const [frame] = await client.hears(1)
    // Shown is not heard: whoever goes without a word leaves it as it was.
    await w.settle()
    expect(await shown(w)).toMatchObject([{ ...failed, attempt_count: 2 }])
    client.ack(frame.id)
    await client.roundTrip()
    await until('completed', async () => {
      await w.settle()
      const [effect] = (await shown(w)) as [{ status: string }]
      return effect.status === 'completed'
    })
    expect(await shown(w)).toMatchObject([{ channel: 'websocket', last_error: null }])
  })
})
