/** contract: `handleTurn` of `wakeful/remote` makes any server of web-standard requests an agent, on any runtime. */
import { build } from 'esbuild'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  type AgentFunction,
  agent,
  handleTurn,
  RetryableError,
  TerminalError,
} from '../../packages/remote/src/index.ts'
import { webhookSignature } from '../../src/core/calls/signature.ts'
import { ROOT } from '../../src/root.ts'
import { afterEachTest } from '../setup/ends.ts'
import type { Loose } from '../setup/http.ts'
import { sharedStage } from '../setup/listening-app.ts'
import { eachStore } from '../setup/stores.ts'
import { type FetchServer, serveFetch } from './fetch-server.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const NOW = new Date('2026-01-01T00:00:00Z')

const TURN = {
  ...{ type: 'turn', session: { key: 'ann:far:t', user_id: 'ann' }, state: { n: 1 }, history: [] },
  event: { id: 'e', seq: 1, type: 'user_message', payload: { text: 'hi' }, created_at: NOW },
  ...{ attempt: 1, deadline: new Date(NOW.getTime() + 60_000) },
}

/** Each is signed with an id of its own. */
let calls = 0
function signed({
  at = NOW,
  body = JSON.stringify(TURN),
  secret = SECRET,
  id = `call-${calls++}`,
} = {}): Request {
  const seconds = Math.floor(at.getTime() / 1000)
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': webhookSignature([secret], id, seconds, body),
  }
  return new Request('http://far/', { method: 'POST', headers, body })
}
const handle = (request: Request, run: AgentFunction = () => undefined) =>
  handleTurn(request, agent(run), { secret: SECRET, now: () => NOW })

describe('a call', () => {
  it('is answered with what the turn asks for, in the order of the calls', async () => {
    const answer = await handle(signed(), async (turn) => {
      turn.say('first')
      // Nobody awaits it.
      void turn.say(
        (async function* () {
          yield 'sec'
          yield 'ond'
        })(),
      )
      turn.schedule('nudge', { in: '10 minutes', cancelOnReply: true, data: { n: 1 } })
      turn.schedule('dip', { when: { silentFor: '2 hours' } as never })
      turn.cancel('old')
      turn.spent({ tokens: 5, usd: 0.5 })
      turn.state.n = 2
    })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({
      state: { n: 2 },
      effects: [
        { type: 'send_message', content: 'first' },
        { type: 'send_message', content: 'second' },
        ...[
          {
            type: 'schedule',
            name: 'nudge',
            in: '10 minutes',
            cancel_on_reply: true,
            data: { n: 1 },
          },
        ],
        { type: 'schedule', name: 'dip', when: { silent_for: '2 hours' } },
        { type: 'cancel', name: 'old' },
      ],
      spent: { tokens: 5, usd: 0.5, calls: 1 },
    })
  })

  it('leaves out a state that is as it was, so that it stays to the digit', async () => {
    const body = JSON.stringify(TURN).replace('{"n":1}', '{"n":12345678901234567890}')
    expect(await (await handle(signed({ body }))).json()).toEqual({ effects: [] })
  })

  it('is refused when it is wrong, late, or was taken before', async () => {
    const refused = async (request: Request) => {
      const answer = await handle(request, () => {
        throw new Error('it ran')
      })
      return [answer.status, await answer.text()]
    }
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    const wrong = [401, 'the signature is not valid']
    expect(await refused(signed({ secret: other }))).toEqual(wrong)
    expect(await refused(new Request('http://far/', { method: 'POST', body: '{}' }))).toEqual(wrong)
    const tampered = signed()
    const moved = new Request(tampered, { body: '{"type":"turn"}' })
    expect(await refused(moved)).toEqual(wrong)
    for (const minutes of [-5.1, 5.1]) {
      const at = new Date(NOW.getTime() + minutes * 60_000)
      expect((await refused(signed({ at })))[0]).toBe(401)
    }
    const call = signed({ id: 'same' })
    const copy = call.clone()
    expect((await handle(call)).status).toBe(200)
    expect(await refused(copy)).toEqual([401, 'this call was taken before'])
    // The next attempt at the same event has the same id, and is signed anew.
    const body = JSON.stringify({ ...TURN, attempt: 2 })
    expect((await handle(signed({ id: 'same', body }))).status).toBe(200)
    expect(
      (
        await handleTurn(
          new Request('http://far/'),
          agent(() => 0),
          { secret: SECRET },
        )
      ).status,
    ).toBe(405)
    await expect(
      handleTurn(
        signed(),
        agent(() => 0),
        { secret: '' },
      ),
    ).rejects.toThrow('secret')
  })

  it('is taken with the old and the new secret while it is being changed', async () => {
    const old = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
    for (const secret of [SECRET, old]) {
      const options = { secret: [SECRET, old], now: () => NOW }
      expect((await handleTurn(signed({ secret }), () => undefined, options)).status).toBe(200)
    }
  })

  it('says how a failure is meant', async () => {
    const failed = async (error: unknown) => {
      const answer = await handle(signed(), () => {
        throw error
      })
      return [answer.status, answer.headers.get('retry-after'), await answer.text()]
    }
    expect(await failed(new TerminalError('no'))).toEqual([422, null, 'no'])
    expect(await failed(new TypeError('oops'))).toEqual([422, null, 'oops'])
    expect(await failed(new Error('later'))).toEqual([500, null, 'later'])
    const patient = new RetryableError({ retryAfterMs: 1_500, message: 'busy' })
    expect(await failed(patient)).toEqual([503, '2', 'busy'])
    const lost = await handle(signed(), (turn) => {
      void turn.say(
        (async function* (): AsyncGenerator<string> {
          yield* []
          throw new Error('the model broke off')
        })(),
      )
    })
    expect([lost.status, await lost.text()]).toEqual([500, 'the model broke off'])
  })

  it('needs nothing of Node', async () => {
    const { outputFiles, metafile } = await build({
      entryPoints: [`${ROOT}packages/remote/src/index.ts`],
      ...({ bundle: true, write: false, metafile: true, format: 'esm' } as const),
      platform: 'neutral',
      logLevel: 'silent',
    })
    expect(
      Object.keys(metafile.inputs).filter(
        (path) => !/packages\/remote\/src|src\/clock\.ts$/.test(path),
      ),
    ).toEqual([])
    expect(outputFiles[0]?.text).not.toMatch(/node:|\brequire\(|\bprocess\.|\bBuffer\b/)
  })
})

eachStore('an agent behind handleTurn', (store) => {
  const at = sharedStage(store)
  const open = new Set<FetchServer>()
  afterEachTest(async () => {
    await Promise.all([...open].map((each) => each.stop()))
    open.clear()
  })
  beforeEach(async () => {
    await at().query('delete from wakeful.agents')
    await at().settle()
  })
  const far = async (run: AgentFunction) => {
    const options = { secret: SECRET, now: () => at().now() }
    const server = await serveFetch((request) => handleTurn(request, agent(run), options))
    open.add(server)
    const made = await at().call('POST', '/v1/agents', {
      id: 'far',
      url: server.url,
      secret: SECRET,
    })
    expect(made.status, made.text).toBe(201)
  }
  const say = (words: string, key: string) =>
    at().call('POST', `/v1/sessions/${key}/messages`, { text: words })
  const list = async (path: string): Promise<Loose[]> => (await at().call('GET', path)).body.data
  const messages = async (key: string) =>
    (await list(`/v1/sessions/${key}/effects`))
      .filter(({ type }) => type === 'send_message')
      .map(({ payload }) => payload.content)

  it('sets and cancels schedules of every kind, knows the person, and keeps its state', async () => {
    const seen: Loose[] = []
    await far(async (turn) => {
      seen.push({ ...turn.person, past: (await turn.history()).length, type: turn.event.type })
      const { text = '' } = turn.event.payload as { text?: string }
      turn.state.turns = ((turn.state.turns as number | undefined) ?? 0) + 1
      if (text === 'stop') return turn.cancel('plan')
      if (turn.event.type === 'alarm')
        return turn.say(`${turn.event.payload.wake_message}, ${turn.state.turns}`)
      if (turn.event.type !== 'user_message') return turn.silent('nothing new')
      turn.schedule('nudge', { in: '1 minute', cancelOnReply: true })
      turn.schedule('call', { in: '2 minutes', note: 'call Ben', data: { phone: 1 } })
      turn.schedule('plan', { at: 'tomorrow at 9am', note: 'never' })
      turn.schedule('plan', { every: 'day at 9am', note: 'plan' })
      turn.schedule('dip', { when: { price: 'NVDA', below: 130 }, note: 'buy' })
      turn.say(`hello, ${turn.person.timeZone}`)
    })
    await at().call('PUT', '/v1/people/ann', { timezone: 'Europe/Berlin' })
    const key = 'ann:far:kinds'
    await say('hi', key)
    await at().settle()
    const named = async () =>
      (await list('/v1/schedules?user_id=ann&status=active')).map(
        ({ kind, name }) => `${kind} ${name}`,
      )
    expect((await named()).toSorted()).toEqual([
      'alarm call',
      'alarm plan',
      'intent dip',
      'timer nudge',
    ])
    await at().advanceBy(120_000)
    expect(await messages(key)).toEqual(['hello, Europe/Berlin', 'call Ben, 3'])
    const silence = (await list(`/v1/sessions/${key}/turns`)).flatMap(({ verdicts }) => verdicts)
    expect(silence).toContainEqual({ allowed: true, rule: 'silent', reason: 'nothing new' })
    expect(seen[0]).toMatchObject({
      ...{ id: 'ann', timeZone: 'Europe/Berlin', timezoneKnown: true, past: 1 },
      localTime: expect.stringMatching(/^\w+ 2026-01-\d\d \d\d:\d\d$/),
    })
    await say('stop', key)
    await at().settle()
    expect(await named()).toEqual(['intent dip'])
  })

  it('fails the turn over a schedule that is refused, and says why', async () => {
    await far((turn) => {
      if (turn.event.type !== 'user_message') return
      turn.say('I will')
      turn.schedule('never', { every: 'other blue moon' })
    })
    const key = 'ann:far:refused'
    await say('hi', key)
    await at().settle()
    const [turn] = await list(`/v1/sessions/${key}/turns`)
    expect(turn?.error).toContain('effects[1]')
    expect(await messages(key)).not.toContain('I will')
  })

  it('asks, and reads the answer', async () => {
    await far((turn) => {
      if (turn.answer !== null) turn.say(`so: ${turn.answer.answer}`)
      else turn.ask('Send it?', { options: ['Yes', 'No'], default: 'No', until: 'in 2 hours' })
    })
    const key = 'ann:far:asks'
    await say('hi', key)
    await at().settle()
    await say('yes', key)
    await at().settle()
    expect((await messages(key)).at(-1)).toBe('so: Yes')
  })
})
