/** Conditions of the app: asked under a lease and a time limit, judged and recorded like the built-in ones. */
import { beforeEach, expect, it } from 'vitest'
import { ConditionsService } from '../../packages/conditions/src/service.ts'
import type { Condition } from '../../src/features/intents/own.ts'
import { agent } from '../../src/index.ts'
import { testWakeful } from '../../src/testing.ts'
import { afterEachTest } from '../setup/ends.ts'
import { databaseEnv, eachStore, queryAll } from '../setup/stores.ts'

const MINUTE = 60_000
type Asked = Parameters<Condition>[0]
type Answer = Awaited<ReturnType<Condition>>

eachStore('conditions of the app', (store) => {
  const open: { stop(): Promise<void> }[] = []
  afterEachTest(async () => {
    await Promise.all(open.splice(0).map((each) => each.stop()))
  })
  let asked: Asked[] = []
  let answer: (asked: Asked) => Answer | Promise<Answer> = () => false
  const woken: unknown[] = []
  beforeEach(() => {
    asked = []
    answer = () => false
    woken.length = 0
  })

  async function opened() {
    const w = await testWakeful({
      agents: {
        bot: agent((turn) => {
          const { trigger_data } = turn.event.payload as { trigger_data: unknown }
          woken.push(trigger_data)
        }),
      },
      conditions: {
        queue: (each) => {
          asked.push(each)
          return answer(each)
        },
      },
      env: { PORT: '0', LOG_LEVEL: 'silent', ...databaseEnv(await store.database()) },
    })
    open.push(w)
    const when = (condition: object) =>
      w.call('put_schedule', { name: 'watch', user_id: 'ann', when: condition, note: 'look' })
    const records = () =>
      queryAll<{ status: string; error: string | null; n: number }>(
        w.app,
        `select status, error_message as error, repeats as n from wakeful.intent_executions order by executed_at, id`,
      )
    return { w, when, records }
  }

  it('is asked every five minutes with its params, and fires when it becomes true, once', async () => {
    const { w, when, records } = await opened()
    await when({ condition: 'queue', params: { name: 'in', above: 3 } })
    await w.advanceBy(11 * MINUTE)
    expect(asked).toHaveLength(3)
    expect(asked[0]).toMatchObject({ params: { name: 'in', above: 3 }, userId: 'ann' })
    expect(woken).toEqual([])
    expect(await records()).toEqual([{ status: 'condition_not_met', error: null, n: 3 }])
    answer = () => ({ met: true, data: { length: 4 } })
    await w.advanceBy(5 * MINUTE)
    expect(woken).toEqual([
      { condition: 'queue', params: { name: 'in', above: 3 }, data: { length: 4 } },
    ])
    // Still true: it does not fire again before it was false.
    await w.advanceBy(20 * MINUTE)
    expect(woken).toHaveLength(1)
    answer = () => false
    await w.advanceBy(6 * MINUTE)
    answer = () => true
    await w.advanceBy(6 * MINUTE)
    expect(woken).toHaveLength(2)
    const [first, second] = await records()
    expect([first?.status, second?.status]).toEqual(['condition_not_met', 'success'])
  })

  it('what it throws, and what is no answer, is a failed check that is tried again', async () => {
    const { w, when, records } = await opened()
    answer = () => {
      throw new Error('no connection')
    }
    await when({ condition: 'queue' })
    await w.settle()
    answer = () => 'yes' as never
    await w.advanceBy(16 * MINUTE)
    answer = () => true
    await w.advanceBy(16 * MINUTE)
    expect(await records()).toMatchObject([
      { status: 'failed', error: 'no connection' },
      { status: 'failed', error: 'the condition must answer true, false or { met, data }' },
      { status: 'success', error: null },
    ])
    expect(woken).toHaveLength(1)
  })

  it('is aborted when it takes too long, and one that ignores that is not waited for', async () => {
    const { w, when } = await opened()
    await when({ condition: 'queue' })
    let signal: AbortSignal | undefined
    const service = new ConditionsService({
      conditions: new Map([
        [
          'queue',
          (each) => {
            signal = each.signal
            return new Promise<boolean>(() => undefined)
          },
        ],
      ]),
      ...{ db: w.app.store.engine, leaseMs: 30_000, meter: w.app.meter, enabled: true },
      ...{ seen: () => undefined, timeLimitMs: 20 },
    })
    expect((await service.tick()).did).toBe(1)
    // Leased: nobody else asks meanwhile.
    expect((await service.tick()).did).toBe(0)
    await service.settle()
    expect(signal?.aborted).toBe(true)
    const [row] = await queryAll<{ observed: string; claim_token: string | null }>(
      w.app,
      'select observed::text as observed, claim_token from wakeful.scheduled_intents',
    )
    expect(row).toMatchObject({
      observed: '{"error":"the poll took longer than 20 ms"}',
      claim_token: null,
    })
    await service.close()
  })

  it('one that was changed while it was asked keeps nothing of the old answer', async () => {
    const { w, when } = await opened()
    let go: (met: boolean) => void = () => undefined
    answer = () =>
      new Promise<boolean>((done) => {
        go = done
      })
    await when({ condition: 'queue', params: { n: 1 } })
    const settled = w.settle()
    await expect.poll(() => asked.length).toBe(1)
    await when({ condition: 'queue', params: { n: 2 } })
    answer = () => false
    go(true)
    await settled
    await w.settle()
    expect(asked.map(({ params }) => params.n)).toEqual([1, 2])
    expect(woken).toEqual([])
  })

  it('an unknown one is refused, with those there are', async () => {
    const { w, when } = await opened()
    await expect(when({ condition: 'none' })).rejects.toThrow(
      'there is no condition "none" here; there are queue',
    )
    const create = (trigger_condition: object) =>
      w.call('create_intent', {
        ...{ user_id: 'ann', intent_name: 'x', agent_id: 'bot', action_context: 'x' },
        ...{ trigger_type: 'condition', trigger_condition },
      })
    await expect(create({ type: 'none' })).rejects.toThrow('there is no condition "none"')
    await expect(create({})).rejects.toThrow(`trigger_condition.type required`)
    await expect(create({ type: 'queue', where: [{ path: 'a', op: 'exists' }] })).rejects.toThrow(
      `where: goes with type 'event'`,
    )
    await expect(when({ event: 'x', params: {} })).rejects.toThrow('params goes with condition')
    await create({ type: 'queue', params: {} })
  })
})
