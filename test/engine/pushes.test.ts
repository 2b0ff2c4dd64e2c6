/** Pushes to any channel: a session says in its row where its messages go, and only who reaches it takes them. */
import { expect, it } from 'vitest'
import type { Push, PushChannel, PushOutcome } from '../../src/channels/channel.ts'
import type { Meter } from '../../src/engine/meter.ts'
import { SILENT } from '../../src/engine/moments.ts'
import { PushesService } from '../../src/engine/pushes.ts'
import { lockSessions, startPushing, stopPushing } from '../../src/store/sessions/pushed.ts'
import { eachStore } from '../setup/stores.ts'
import { ref, type World, world } from '../setup/worlds.ts'

const ANN = 'ann:bot:t'
const BEA = 'bea:bot:t'

class Recorded implements PushChannel {
  readonly got: string[] = []
  readonly unlinked: string[] = []
  outcome: PushOutcome = { type: 'sent' }
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  async send({ sessionKey, address, content }: Push): Promise<PushOutcome> {
    this.got.push(`${sessionKey} to ${address}: ${content}`)
    return this.outcome
  }
  async unlink(_tx: unknown, { key }: { key: string }, address: string): Promise<void> {
    this.unlinked.push(`${key} from ${address}`)
  }
}

const meter = { trouble() {}, leasesLost() {}, delivered() {} } as unknown as Meter

function pushes({ app }: World, channels: readonly PushChannel[]) {
  const { engine: claims, commits } = app.store
  const service = new PushesService({
    ...{ channels, claims, commits, leaseMs: 30_000, meter, moments: SILENT },
  })
  return async () => {
    const { did } = await service.tick()
    await service.settle()
    return did
  }
}

const link = ({ app }: World, key: string, to: string) =>
  app.store.commits.tx(async (tx) => {
    await lockSessions(tx, [ref(key)])
    await startPushing(tx, ref(key), to)
  })

const pushedTo = async (w: World) =>
  (
    await w.query<{ pushed_to: string | null }>(
      'select pushed_to from wakeful.sessions order by session_key',
    )
  ).map((row) => row.pushed_to)

eachStore('pushes', (store) => {
  const open = () => world(store, { bot: (turn) => turn.reply('hello') })

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

  it('end where nobody is any more, and the channel forgets it, too; not if the session is pushed elsewhere by then', async () => {
    const w = await open()
    const paper = new Recorded('paper')
    paper.outcome = { type: 'gone', error: 'moved away' }
    const push = pushes(w, [paper])
    await link(w, ANN, 'paper:1')
    await w.say(ANN, 'hi')
    await w.settle()
    expect(await push()).toBe(1)
    expect([await pushedTo(w), paper.unlinked]).toEqual([[null], [`${ANN} from 1`]])
    const [effect] = await w.query('select status, due_at from wakeful.effects')
    expect(effect).toEqual({ status: 'pending', due_at: null })

    await link(w, ANN, 'bell:2')
    expect(await w.app.store.commits.tx((tx) => stopPushing(tx, ref(ANN), 'paper:1'))).toBe(false)
    expect(await pushedTo(w)).toEqual(['bell:2'])
  })
})
