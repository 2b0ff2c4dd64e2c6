import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { opaqueJson, operation, ROLES } from '../../src/api/contract.ts'
import { Refusal } from '../../src/core/errors.ts'
import { deleteExpired } from '../../src/features/identity/idempotency-rows.ts'
import type { Db } from '../../src/store/db.ts'
import { migrateUp } from '../../src/store/migrate.ts'
import { openStore, type Store } from '../../src/store/open.ts'
import { ADMIN, context, door } from './door.ts'

let store: Store
let db: Db
let now: Date | null = null
/** What happens in the operation, before its insert. */
let during: () => Promise<void> = async () => {}

const body = z.object({
  text: z.string(),
  payload: opaqueJson.optional(),
  user_id: z.string().optional(),
})
const thing = (path: string) =>
  operation({
    owner: 'body',
    name: `create_${path}`,
    method: 'POST',
    path: `/v1/${path}`,
    tag: 'Things',
    summary: 'Create',
    body,
    opaque: ['payload'],
    status: 201,
    creates: true,
    roles: ROLES,
    output: null,
    async run(ctx, { body }) {
      await during()
      const [row] = await ctx.db.query<{ id: number }>(
        'insert into things (text) values ($1) returning id',
        [body.text],
      )
      if (body.text === 'broken') throw new Error('after the insert')
      if (body.text === 'refused') throw new Refusal('rule', 'not this')
      return { body: { id: row?.id, payload: body.payload } }
    },
  })

const app = door({
  operations: [thing('things'), thing('others')],
  context: (caller) => context(db)(caller),
  authenticate: async (headers) => {
    const owner = headers.authorization
    return owner === undefined ? ADMIN : { ...ADMIN, role: 'user', ownerDid: owner, userId: owner }
  },
})

beforeAll(async () => {
  store = await openStore('memory:', { now: () => now, onError: () => {} })
  db = store.db
  await migrateUp(db)
  await db.exec('create table things (id int generated always as identity, text text)')
})
beforeEach(async () => {
  now = null
  during = async () => {}
  await db.exec('truncate things; truncate wakeful.idempotency_keys')
})
afterAll(async () => {
  await app.close()
  await store.close()
})

const post = (key: string | undefined, payload: object | string, more: object = {}) =>
  app.inject({
    method: 'POST',
    url: '/v1/things',
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    ...more,
  })
const count = async () =>
  (await db.query<{ n: number }>('select count(*)::int as n from things'))[0]?.n

describe('Idempotency-Key', () => {
  test('the same key and body: the first answer again, and nothing else', async () => {
    const sent = '{"text":"a","payload":{"n":9007199254740993,"b":1,"a":1E2}}'
    const first = await post('key-1', sent)
    const again = await post('"key-1"', sent)
    expect([first.statusCode, again.statusCode]).toEqual([201, 201])
    expect(again.body).toBe(first.body)
    expect(again.body).toContain('9007199254740993,"b":1,"a":1E2')
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect(await count()).toBe(1)
  })

  test('white space and the order of keys do not make another body', async () => {
    await post('key-1', '{"text":"a","payload":{"x":1,"y":2}}')
    const again = await post('key-1', '{ "payload": {"y":2, "x":1}, "text": "a" }')
    expect(again.statusCode).toBe(201)
    expect(await count()).toBe(1)
  })

  test('another body or another endpoint: 422', async () => {
    await post('key-1', { text: 'a' })
    const body = await post('key-1', { text: 'b' })
    const endpoint = await post('key-1', { text: 'a' }, { url: '/v1/others' })
    expect([body.statusCode, endpoint.statusCode]).toEqual([422, 422])
    expect(await count()).toBe(1)
  })

  test('in flight: 409 at once, whatever the rest', async () => {
    let release = () => {}
    const started = new Promise<void>((arrived) => {
      during = () => {
        arrived()
        return new Promise((done) => {
          release = done
        })
      }
    })
    const first = post('key-1', { text: 'a' })
    await started
    const second = await post('key-1', { text: 'a' })
    release()
    expect(second.statusCode).toBe(409)
    expect(second.headers['retry-after']).toBe('1')
    expect((await first).statusCode).toBe(201)
  })

  test('twenty at once create one', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post('key-1', { text: 'a' })),
    )
    expect(
      answers.map((answer) => answer.statusCode).filter((status) => status === 201),
    ).not.toEqual([])
    for (const { statusCode } of answers) expect([201, 409]).toContain(statusCode)
    expect(await count()).toBe(1)
  })

  test('two processes: the second replays what the first committed', async () => {
    const other = door({ operations: [thing('things')], context: (caller) => context(db)(caller) })
    const first = await post('key-1', { text: 'a' })
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'key-1' }
    const request = { method: 'POST', url: '/v1/things', payload: '{"text":"a"}', headers } as const
    expect((await other.inject(request)).body).toBe(first.body)
    await other.close()
    expect(await count()).toBe(1)
  })

  test.each([
    ['broken', 500],
    ['refused', 400],
  ])('a request that is %s leaves its key unused', async (text, status) => {
    expect((await post('key-1', { text })).statusCode).toBe(status)
    expect(await count()).toBe(0)
    expect((await post('key-1', { text: 'corrected' })).statusCode).toBe(201)
  })

  test('a wrong shape leaves its key unused', async () => {
    expect((await post('key-1', { wrong: 1 })).statusCode).toBe(422)
    expect((await post('key-1', { text: 'a' })).statusCode).toBe(201)
  })

  test('owners do not share keys', async () => {
    const as = (authorization: string) => ({
      headers: { 'content-type': 'application/json', 'idempotency-key': 'key-1', authorization },
    })
    const bodies = [
      await post('', { text: 'a' }, as('did:a')),
      await post('', { text: 'b' }, as('did:b')),
      await post('key-1', { text: 'c', user_id: 'carol' }),
      await post('key-1', { text: 'd', user_id: 'dave' }),
    ]
    expect(bodies.map((answer) => answer.statusCode)).toEqual([201, 201, 201, 201])
    expect(await count()).toBe(4)
  })

  test.each(['', '""', ' '])('the key %j is none', async (key) => {
    await post(key, { text: 'a' })
    await post(key, { text: 'b' })
    expect(await count()).toBe(2)
  })

  test.each(['x', 'k'.repeat(256), 'a b', 'a\u0000b', 'a\u0007b', 'é'])(
    '%j is 400',
    async (key) => {
      expect((await post(key, { text: 'a' })).statusCode).toBe(400)
      expect(await count()).toBe(0)
    },
  )

  test('255 characters are fine', async () => {
    expect((await post('k'.repeat(255), { text: 'a' })).statusCode).toBe(201)
  })

  test('two headers: 400 if they differ', async () => {
    await app.listen({ host: '127.0.0.1', port: 0 })
    const [bound] = app.addresses()
    const url = `http://127.0.0.1:${typeof bound === 'object' ? bound.port : 0}/v1/things`
    const { request } = await import('undici')
    const send = async (keys: string[]) => {
      const headers = keys.flatMap((key) => ['idempotency-key', key])
      const answer = await request(url, {
        method: 'POST',
        body: '{"text":"a"}',
        headers: ['content-type', 'application/json', ...headers],
      })
      await answer.body.dump()
      return answer.statusCode
    }
    expect(await send(['key-1', 'key-2'])).toBe(400)
    expect(await send(['key-1', '"key-1"'])).toBe(201)
  })

  test('a key is forgotten after 24 hours', async () => {
    now = new Date('2030-01-01T00:00:00Z')
    await post('key-1', { text: 'a' })
    now = new Date('2030-01-01T23:59:59Z')
    expect((await post('key-1', { text: 'b' })).statusCode).toBe(422)
    expect(await deleteExpired(db, 100)).toBe(0)
    now = new Date('2030-01-02T00:00:00Z')
    expect((await post('key-1', { text: 'b' })).statusCode).toBe(201)
    await post('key-2', { text: 'c' })
    now = new Date('2030-01-04T00:00:00Z')
    expect(await deleteExpired(db, 1)).toBe(1)
    expect(await deleteExpired(db, 100)).toBe(1)
  })
})
