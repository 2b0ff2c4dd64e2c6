/**
 * The laws of every channel that pushes, whoever the vendor is: what is sent, what each refusal means, what a crash leaves,
 * and what is believed of what comes in. A kit says how one vendor's fake is asked for each.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PushesService } from '../../packages/channels/hub/src/pushes.ts'
import type { PushChannel } from '../../src/kernel/channel.ts'
import type { Loose } from '../setup/http.ts'
import { type Row, type Stage, type StageOptions, sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'

export type Refusal = 'later' | 'gone' | 'closed' | 'dropped'
/** What a vendor has: ways to refuse, and ways in. */
export type Ability = Refusal | 'write' | 'answer' | 'press' | 'failLate' | 'forged'

/** One vendor's fake on loopback. */
export interface Kit {
  readonly name: string
  readonly env: Record<string, string>
  /** Of the n-th person. */
  address(n: number): string
  /** What has arrived at an address, in order; each id of ours once where the vendor keeps that promise. */
  arrived(address: string): string[]
  /** Sends that were asked for, refused ones too. */
  attempts(): number
  /** Says of each text how it is refused; null lets it through. `later` asks for patience of `LATER_MS`. */
  refuse: (text: string) => Refusal | null
  /** A message was taken, and its sender is not told yet; waited for. */
  taken: (text: string) => void | Promise<void>
  /** What each message that was taken is known by, where the vendor or the reader's program tells two of one apart by it. */
  handles?(address: string): string[]
  /** How long `later` is waited for: what the vendor asks, or the first rung of our own ladder. */
  readonly laterMs: number
  /** It may be written to only after somebody wrote: they are linked by a code. */
  readonly opens?: true
  /** The vendor drops what it was given twice under one id. */
  readonly once: boolean
  /** Another sender of the same channel, as a second process would have. */
  channel(): PushChannel
  /** Somebody writes; with the id of before it is told a second time. Answers with the vendor's id, and the status we gave. */
  write?(
    s: Stage,
    address: string,
    text: string,
    id?: string,
  ): Promise<{ id: string; status: number }>
  /** They answer to the newest message there; says whether what came back stands beneath theirs. */
  answer?(s: Stage, address: string, text: string): Promise<boolean>
  /** The line breaks, and they write while it is down. */
  away?(address: string, text: string): Promise<void>
  /** They press a button of the newest message there. */
  press?(s: Stage, address: string, value: string): Promise<number>
  /** Requests that are not what they seem, with the status each must get. */
  forged?(s: Stage, address: string, text: string): Promise<[what: string, status: number][]>
  /** The vendor tells that the newest message it took did not arrive. */
  failLate?(s: Stage, address: string, how: 'closed' | 'failed'): Promise<number>
  reset(): void
  stop(): Promise<void>
}

export const LATER_MS = 40_000

const agents: NonNullable<StageOptions['agents']> = {
  bot: (turn) => {
    const { text, wake_message: wake } = turn.event.payload as {
      text?: string
      wake_message?: string
    }
    if (turn.event.type === 'timer') return turn.say('still there?')
    if (wake !== undefined) return turn.say(wake)
    if (text?.startsWith('count ')) {
      for (let n = 1; n <= Number(text.slice(6)); n++) turn.say(`number ${n}`)
    } else turn.say(`you said: ${text}`)
    if (text === 'nudge me') turn.schedule('nudge', { in: 60, cancelOnReply: true })
  },
}

export function channelLaws(
  title: string,
  startKit: () => Promise<Kit>,
  abilities: readonly Ability[],
): void {
  eachStore(`laws of ${title}`, (store) => {
    let kit: Kit
    let s: Stage
    let nth = 0
    let address = ''
    beforeAll(async () => {
      kit = await startKit()
    })
    afterAll(() => kit.stop())
    const at = sharedStage(store, {
      agents,
      get env() {
        return { ...kit.env, AUTONOMY_COOLDOWN_MS: '0' }
      },
    })
    beforeEach(() => {
      s = at()
      kit.reset()
      address = kit.address(++nth)
    })
    const user = () => `ann${nth}`
    const key = () => `${user()}:bot:t`
    const link = async (to = address, session = key()): Promise<Row> => {
      const asked = { channel: kit.name, session_key: session }
      const body = kit.opens ? asked : { ...asked, address: to }
      const made = await s.call('POST', '/v1/links', body)
      expect(made.status, made.text).toBe(201)
      if (kit.opens) await kit.write?.(s, to, `link ${made.body.code}`)
      return made.body
    }
    /** They write over HTTP, so that vendors without a way in are heard, too. */
    const say = async (text: string, session = key()) => {
      await s.call('POST', `/v1/sessions/${session}/messages`, { text })
      await s.settle()
    }
    const promise = (text: string, seconds = 1) =>
      s.set(
        {
          ...{ kind: 'once', delay_seconds: seconds, wake_message: text },
          ...{ agent_id: 'bot', conversation_id: 't' },
        },
        { 'wakeful-act-as': user() },
      )
    const effects = async (): Promise<Row[]> =>
      (await s.call('GET', `/v1/sessions/${key()}/effects`)).body.data.filter(
        (effect: Row) => effect.type === 'send_message',
      )
    const events = async () =>
      (
        await s.query('select count(*)::int as n from wakeful.events where session_key = $1', [
          key(),
        ])
      )[0]?.n as number
    const links = async (): Promise<Row[]> =>
      (await s.call('GET', `/v1/links?user_id=${user()}&ended=true`)).body.data
    /** A law of those that have what it speaks of. */
    const law = (needs: readonly Ability[], name: string, test: (k: Required<Kit>) => unknown) => {
      if (needs.every((each) => abilities.includes(each)))
        it(name, () => test(kit as Required<Kit>))
    }

    /** A sender beside the app's own that stops at a moment. */
    const sender = (reach: (moment: string) => void | Promise<void>) => {
      const lost = { count: 0 }
      const meter = { trouble() {}, delivery() {}, leasesLost: () => lost.count++ } as Loose
      const { engine: claims, commits } = s.app.store
      const channels = [kit.channel()]
      const service = new PushesService({
        ...{ channels, claims, commits, leaseMs: 30_000, meter, moments: { reach } },
      })
      return { service, lost }
    }
    const commitTurn = async (text: string) => {
      await s.call('POST', `/v1/sessions/${key()}/messages`, { text })
      await s.app.engine.home.turns.tick()
      await s.app.engine.home.turns.settle()
    }

    it('order: messages leave one after the other, also when one is held up', async () => {
      await link()
      let times = 0
      kit.refuse = (text) => (text.includes('number 2') && times++ === 0 ? 'later' : null)
      await say('count 4')
      expect(kit.arrived(address)).toHaveLength(1)
      await s.advanceBy(kit.laterMs)
      expect(kit.arrived(address)).toEqual(['number 1', 'number 2', 'number 3', 'number 4'])
      expect(await effects()).toMatchObject(
        [1, 2, 1, 1].map((attempt_count) => ({
          ...{ status: 'completed', channel: kit.name, attempt_count },
        })),
      )
    })

    it('later: waits as long as the vendor asks, and delays nobody else', async () => {
      const other = kit.address(++nth)
      await link(other, key())
      const slow = kit.address(++nth)
      await link(slow, key())
      kit.refuse = (text) => (text.includes('slowly') ? 'later' : null)
      await say('slowly')
      await say('at once', `ann${nth - 1}:bot:t`)
      expect(kit.arrived(other)).toEqual(['you said: at once'])
      kit.refuse = () => null
      await s.advanceBy(kit.laterMs - 1)
      expect(kit.arrived(slow)).toEqual([])
      await s.advanceBy(1)
      expect(kit.arrived(slow)).toEqual(['you said: slowly'])
    })

    law(
      ['gone'],
      'gone: the link ends, is not asked again, and the message stays for the sockets',
      async () => {
        await link()
        kit.refuse = () => 'gone'
        await say('count 2')
        await s.advanceBy(3_600_000)
        expect(kit.attempts()).toBe(1)
        expect(await effects()).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
        expect(await links()).toMatchObject([
          { channel: kit.name, ended_at: expect.any(String), last: { outcome: 'gone' } },
        ])
      },
    )

    law(['dropped'], 'refused for good: that one fails, and the next one goes', async () => {
      await link()
      kit.refuse = (text) => (text.includes('number 1') ? 'dropped' : null)
      await say('count 2')
      expect(kit.arrived(address)).toEqual(['number 2'])
      expect(await effects()).toMatchObject([
        { status: 'failed', channel: null, last_error: expect.any(String) },
        { status: 'completed', channel: kit.name },
      ])
    })

    law(
      ['closed', 'write'],
      'closed: a promise waits until they write, a follow-up does not, and nothing is tried meanwhile',
      async (kit) => {
        await link()
        await kit.write(s, address, 'nudge me')
        await s.settle()
        expect(kit.arrived(address)).toEqual(['you said: nudge me'])
        kit.refuse = () => 'closed'
        await promise('take your pills', 30)
        await s.advanceBy(31_000)
        const tried = kit.attempts()
        await promise('water the plants', 1)
        await s.advanceBy(86_400_000)
        expect(kit.attempts()).toBe(tried)
        const [, pills, plants, nudge] = (await effects()).toSorted((a, b) =>
          a.created_at < b.created_at ? -1 : 1,
        )
        expect(pills).toMatchObject({ status: 'pending', reason: 'promise', channel: null })
        expect([plants, nudge].map((each) => [each.reason, each.status]).toSorted()).toEqual([
          ['follow_up', 'failed'],
          ['promise', 'pending'],
        ])
        expect(await links()).toMatchObject([{ closed_since: expect.any(String) }])
        kit.refuse = () => null
        await kit.write(s, address, 'hello again')
        await s.settle()
        expect(kit.arrived(address).slice(1)).toEqual([
          'take your pills',
          'water the plants',
          'you said: hello again',
        ])
      },
    )

    law(
      ['failLate'],
      'failed after sent: it is not counted as arrived any more, and the ledger says so',
      async (kit) => {
        await link()
        await promise('take your pills')
        await s.advanceBy(1_000)
        expect(await effects()).toMatchObject([{ status: 'completed', channel: kit.name }])
        expect(await kit.failLate(s, address, 'failed')).toBe(200)
        await s.settle()
        expect(await effects()).toMatchObject([{ status: 'failed', channel: null }])
        // Told twice it is the same, and one that nobody knows is nothing.
        expect(await kit.failLate(s, address, 'failed')).toBe(200)
        await s.settle()
        const ledger = await s.call('GET', `/v1/ledger?user_id=${user()}`)
        expect(ledger.body.data[0]).toMatchObject({
          outcome: 'failed',
          effects: [{ detours: [{ channel: kit.name, outcome: 'failed' }] }],
        })
      },
    )

    describe('crashes', () => {
      it('a sender that stands still between the send and its note: it is sent again when the lease ends, once where the vendor knows its id; the late note writes nothing', async () => {
        await link()
        await commitTurn('count 2')
        const dead = signal()
        const delivered = signal()
        const { service, lost } = sender((moment) => {
          if (moment !== 'delivered') return
          delivered.resolve()
          return dead.promise
        })
        expect((await service.tick()).did).toBe(1)
        await delivered.promise
        await s.advanceBy(29_999)
        expect(kit.arrived(address)).toEqual(['number 1'])
        await s.advanceBy(1)
        const again = kit.once ? [] : ['number 1']
        expect(kit.arrived(address)).toEqual(['number 1', ...again, 'number 2'])
        expect((await effects()).map((effect) => effect.attempt_count)).toEqual([2, 1])
        dead.resolve()
        await service.close()
        expect(lost.count).toBe(1)
        expect((await effects()).map((effect) => effect.status)).toEqual(['completed', 'completed'])
      })

      it('two senders: each message once, in order', async () => {
        await link()
        await commitTurn('count 6')
        const two = [sender(() => undefined), sender(() => undefined)]
        for (let round = 0; round < 12; round++) {
          await Promise.all(two.map(({ service }) => service.tick()))
          await Promise.all(two.map(({ service }) => service.settle()))
        }
        expect(kit.arrived(address)).toEqual([1, 2, 3, 4, 5, 6].map((n) => `number ${n}`))
        await Promise.all(two.map(({ service }) => service.close()))
      })
    })

    const hears = abilities.includes('write') ? describe : () => undefined
    hears('what comes in', () => {
      law(
        ['write'],
        'is one message of the session, however often it is told, and is answered there',
        async (kit) => {
          await link()
          const { id, status } = await kit.write(s, address, 'hello')
          expect(status).toBe(200)
          expect(await events()).toBe(1)
          const [event] = await s.query('select type, client_id from wakeful.events')
          expect(event).toMatchObject({ type: 'user_message' })
          expect(event?.client_id.startsWith(`${kit.name}:`)).toBe(true)
          await s.settle()
          await kit.write(s, address, 'hello', id)
          await s.settle()
          expect(await events()).toBe(1)
          expect(kit.arrived(address)).toEqual(['you said: hello'])
        },
      )

      law(
        ['write'],
        'from an address that nobody knows is nothing but a hint, and a code makes it known',
        async (kit) => {
          expect((await kit.write(s, address, 'hello?')).status).toBe(200)
          await s.settle()
          expect(await s.query('select 1 from wakeful.events')).toEqual([])
          const body = { channel: kit.name, session_key: key() }
          const { code } = (await s.call('POST', '/v1/links', body)).body
          await kit.write(s, address, `link ${code}`)
          await s.settle()
          expect(await links()).toMatchObject([{ address, session_key: key(), person: true }])
          await kit.write(s, address, `link ${randomUUID()}`)
          expect(await links()).toHaveLength(1)
        },
      )

      law(
        ['answer'],
        'as an answer stands beneath what it answers, and so does what comes back',
        async (kit) => {
          await link()
          await promise('take your pills')
          await s.advanceBy(1_000)
          expect(await kit.answer(s, address, 'done')).toBe(true)
          expect(kit.arrived(address)).toEqual(['take your pills', 'you said: done'])
        },
      )

      law(['write'], 'may be said to the engine itself: snooze, stop this, why?', async (kit) => {
        await link()
        await kit.write(s, address, 'why?')
        await s.settle()
        expect(kit.arrived(address)).toEqual(['you said: why?'])
        const berlin = { timezone: 'Europe/Berlin' }
        expect((await s.call('PUT', `/v1/people/${user()}`, berlin)).status).toBe(200)
        await s.set(
          {
            kind: 'cron',
            cron_expr: '0 9 * * *',
            wake_message: 'pills',
            agent_id: 'bot',
            conversation_id: 't',
            label: 'My pills',
          },
          { 'wakeful-act-as': user() },
        )
        await s.advanceBy(9 * 3_600_000)
        const before = await events()
        const press =
          kit.press ?? ((on, to, words) => kit.write(on, to, words).then(({ status }) => status))
        expect(await press(s, address, 'why?')).toBe(200)
        await s.settle()
        expect(kit.arrived(address).at(-1)).toContain('Because of the alarm "My pills"')
        const told = await kit.write(s, address, 'snooze 1h')
        await kit.write(s, address, 'snooze 1h', told.id)
        await s.settle()
        expect(kit.arrived(address).at(-1)).toBe('Again at 2026-01-01 11:00 Europe/Berlin.')
        await press(s, address, 'stop this')
        await s.settle()
        expect(kit.arrived(address).at(-1)).toBe('Stopped.')
        expect(await events()).toBe(before)
        await s.advanceBy(30 * 3_600_000)
        expect(kit.arrived(address).slice(-2)).toEqual(['Stopped.', 'pills'])
      })

      law(
        ['write'],
        'means the same when it is told again, whatever has come there since',
        async (kit) => {
          await link()
          const every = (schedule: string) =>
            s.set(
              {
                ...{ kind: 'cron', cron_expr: `@every ${schedule}`, wake_message: schedule },
                ...{ agent_id: 'bot', conversation_id: 't' },
              },
              { 'wakeful-act-as': user() },
            )
          const [first, second] = [await every('60m'), await every('90m')]
          const toAgent = await kit.write(s, address, 'stop this')
          await s.advanceBy(3_600_000)
          const toFirst = await kit.write(s, address, 'stop this')
          await s.advanceBy(1_800_000)
          const heard = ['you said: stop this', '60m', 'Stopped.', '90m']
          expect(kit.arrived(address)).toEqual(heard)
          for (const { id } of [toAgent, toFirst]) {
            expect((await kit.write(s, address, 'stop this', id)).status).toBe(200)
            await s.settle()
          }
          expect((await s.get(first.id)).status).toBe('cancelled')
          expect((await s.get(second.id)).status).toBe('active')
          expect(await s.query(`select 1 from wakeful.events where type = 'user_message'`)).toEqual(
            [expect.anything()],
          )
          const { id } = await kit.write(s, address, 'unlink')
          await s.settle()
          await link()
          await kit.write(s, address, 'unlink', id)
          await s.settle()
          expect(await links()).toMatchObject([{ address }])
        },
      )

      law(['forged'], 'is believed only with a signature that is right and young', async (kit) => {
        await link()
        const tried = await kit.forged(s, address, 'let me in')
        expect(tried.length).toBeGreaterThan(1)
        for (const [what, status] of tried) expect([what, status]).toEqual([what, wrong(what)])
        expect(await events()).toBe(0)
      })
    })
  })
}

/** A promise to be kept from outside. */
function signal() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** What each forgery is answered; never 5xx. */
function wrong(what: string): number {
  if (what.startsWith('giant')) return 413
  return what.startsWith('malformed') ? 400 : 401
}
