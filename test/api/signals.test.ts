/** POST /v1/signals: what each kind takes, who may tell what, and that a fact told twice is one. */
import { describe, expect, it } from 'vitest'
import { type Actor, execute } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { house } from '../sessions/house.ts'
import { type Loose, problem, UUID } from '../setup/http.ts'
import { eachStore } from '../setup/stores.ts'

eachStore('signals over HTTP', (store) => {
  const open = house(store, { bot: () => undefined })
  const post = (body: unknown, headers?: Record<string, string>) =>
    open().call('POST', '/v1/signals', body, headers)

  it.each([
    [
      { kind: 'price', ticker: 'nvda', price: 129.5 },
      { ticker: 'NVDA', price: 129.5 },
    ],
    [
      { kind: 'news', headline: 'Hi', body: 'b', url: 'https://x.test/a' },
      { headline: 'Hi', url: 'https://x.test/a' },
    ],
    [
      { kind: 'event', name: 'deploy', text: 't' },
      { name: 'deploy', text: 't' },
    ],
    [
      { kind: 'calendar', uid: 'u', title: 'T', starts_at: '2026-02-01T00:00:00Z' },
      { uid: 'u', title: 'T' },
    ],
  ])('takes %j with 202', async (body, shown) => {
    const answer = await post(body)
    expect(answer.status).toBe(202)
    expect(answer.body).toMatchObject({
      known: false,
      promoted: 0,
      signal: { ...shown, kind: body.kind, user_id: null },
    })
    expect(answer.body.signal.id).toMatch(UUID)
    const again = await post(body)
    expect(again.body).toMatchObject({ known: true, signal: { id: answer.body.signal.id } })
  })

  it('refuses the wrong shape with all errors at once, and keeps nothing', async () => {
    const before = await open().query('select 1 from wakeful.signals')
    const wrong = await post({
      kind: 'price',
      price: 'x',
      headline: 'no',
      user_id: 'a b',
      extra: 1,
    })
    problem(wrong, 422)
    const text = wrong.body.errors.join('\n')
    for (const part of [
      'body.ticker: is required for kind price',
      'body.price',
      'body.headline: must be left out for kind price',
      'body.user_id',
      'body.extra',
    ])
      expect(text).toContain(part)
    for (const body of [
      {},
      { kind: 'weather' },
      { kind: 'news', headline: ' ' },
      { kind: 'news', headline: 'x'.repeat(1001) },
      { kind: 'news', headline: 'x', url: 'javascript:alert(1)' },
      { kind: 'event', name: 'x', text: 'é'.repeat(9000) },
      { kind: 'calendar', uid: 'u', title: 't', starts_at: 'soon' },
      { kind: 'price', ticker: 'A', price: 1, at: '10000-01-01T00:00:00Z' },
    ])
      problem(await post(body), 422)
    expect(await open().query('select 1 from wakeful.signals')).toEqual(before)
  })

  it('refuses by rule what lies in the future or ends before it starts', async () => {
    problem(await post({ kind: 'price', ticker: 'A', price: 1, at: '2026-01-01T00:06:00Z' }), 400)
    const entry = { kind: 'calendar', uid: 'u', title: 't', starts_at: '2026-02-01T00:00:00Z' }
    problem(await post({ ...entry, ends_at: '2026-01-31T00:00:00Z' }), 400)
  })

  it('an Idempotency-Key gives the first answer again', async () => {
    const headers = { 'idempotency-key': 'k1' }
    const body = { kind: 'event', name: 'keyed' }
    const first = await post(body, headers)
    const second = await post(body, headers)
    expect(second.text).toBe(first.text)
    expect(await open().query(`select 1 from wakeful.signals where key = 'keyed'`)).toHaveLength(1)
  })

  it('invariant 12: agents and users tell facts of their own person only', async () => {
    const { app } = open().wakeful
    const op = operations.find((each) => each.name === 'post_signal')
    if (op === undefined) throw new Error('post_signal is missing')
    const actor: Actor = {
      role: 'user',
      ownerDid: null,
      userId: 'ann',
      agentId: null,
      keyId: 'k',
      actAs: false,
    }
    const ctx = app.context(actor, { requestId: 'r', signal: new AbortController().signal })
    for (const user_id of [undefined, 'bob']) {
      const body = {
        kind: 'price',
        ticker: `A${user_id ?? ''}`,
        price: 1,
        ...(user_id ? { user_id } : {}),
      }
      const answer = await execute(op, ctx, { params: {}, query: {}, body })
      expect((answer.body as Loose).signal.user_id).toBe('ann')
    }
    await expect(
      execute(
        op,
        { ...ctx, actor: { ...actor, role: 'worker' } },
        { params: {}, query: {}, body: {} },
      ),
    ).rejects.toThrow('post_signal is for')
  })

  it('facts are kept for a week, entries until they have ended, and what fired is remembered for longer', async () => {
    const o = open()
    await post({ kind: 'calendar', uid: 'far', title: 'T', starts_at: '2026-01-20T00:00:00Z' })
    await post({ kind: 'event', name: 'old' })
    const left = async () =>
      (
        await o.query(`select key from wakeful.signals where key in ('far', 'old') order by key`)
      ).map((row) => row.key)
    await o.wakeful.advanceBy(7 * 86_400_000)
    await o.wakeful.app.engine.prune()
    expect(await left()).toEqual(['far', 'old'])
    await o.wakeful.advanceBy(1)
    await o.wakeful.app.engine.prune()
    expect(await left()).toEqual(['far'])
    await o.wakeful.advanceBy(20 * 86_400_000)
    await o.wakeful.app.engine.prune()
    expect(await left()).toEqual([])
  })
})

describe('the operation', () => {
  it('is in the table once', () => {
    expect(operations.filter((op) => op.path === '/v1/signals')).toHaveLength(1)
  })
})
