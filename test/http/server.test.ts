import { request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../src/api/contract.ts'
import { ERRORS } from '../../src/core/errors.ts'
import { door, ID, noteOperations } from './door.ts'

const app = door()
const json = { 'content-type': 'application/json' }
let port = 0

beforeAll(async () => {
  await app.listen({ host: '127.0.0.1', port: 0 })
  port = (app.server.address() as AddressInfo).port
})
afterAll(() => app.close())

const post = (payload: string | Buffer, headers: Record<string, string> = json) =>
  app.inject({ method: 'POST', url: '/v1/notes', payload, headers })
const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })

/** Bytes on the wire, as no well-behaved client would send them. */
function raw(text: string): Promise<string> {
  return new Promise((done, fail) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('close', () => done(answer))
    socket.on('error', fail)
  })
}

describe('answers', () => {
  test('JSON with its status, id and security headers', async () => {
    const answer = await post('{"text":" hi "}', { ...json, 'x-request-id': 'abc-1' })
    expect(answer.statusCode).toBe(201)
    expect(answer.json()).toEqual({ text: 'hi' })
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'abc-1',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    })
  })

  test('opaque fields digit for digit', async () => {
    const payload = '{"n":9007199254740993,"b":1E2,"a":{"__proto__":0.10}}'
    const answer = await post(`{"text":"x","payload": ${payload} }`)
    expect(answer.body).toBe(`{"text":"x","payload":${payload}}`)
  })

  test('204 without a body', async () => {
    const answer = await app.inject({ method: 'DELETE', url: `/v1/notes/${ID}` })
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
  })

  test('HEAD without a body', async () => {
    for (const [path, status] of [
      [`/v1/notes/${ID}`, 200],
      ['/nowhere', 404],
    ] as const) {
      const answer = await raw(
        `HEAD ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      )
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(answer.endsWith('\r\n\r\n')).toBe(true)
    }
  })

  test.each(['a b', 'x'.repeat(65), 'é', '"'])('does not take the request id %j', async (id) => {
    const answer = await get('/healthz', { 'x-request-id': id })
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('problems', () => {
  test('list every error', async () => {
    const answer = await post('{"text":" ","size":99,"color":"green","extra":1,"__proto__":2}')
    expect(answer.statusCode).toBe(422)
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    const problem = answer.json()
    expect(problem).toMatchObject({
      type: '/docs#error-shape',
      title: ERRORS.shape.title,
      status: 422,
      instance: `urn:wakeful:request:${problem.request_id}`,
      request_id: answer.headers['x-request-id'],
    })
    expect(problem.errors.sort()).toEqual([
      'body.__proto__: is not a known field',
      'body.color: must be one of "red", "blue"',
      'body.extra: is not a known field',
      'body.size: must be at most 9',
      'body.text: must not be blank',
    ])
  })

  test.each<[string, string | Buffer, Record<string, string>, number, string]>([
    ['a missing field', '{}', json, 422, 'body.text: is required'],
    ['a wrong type', '{"text":5}', json, 422, 'body.text: must be a string'],
    ['no object', '[]', json, 422, 'body: must be an object'],
    ['null', 'null', json, 422, 'body: must be an object'],
    ['nothing', '', json, 422, 'body: is required'],
    ['nothing at all', '', {}, 422, 'body: is required'],
    ['no JSON', '{"text":', json, 400, 'body: the JSON text ends too early'],
    ['a duplicate key', '{"text":"a","text":"b"}', json, 422, 'is there twice'],
    ['U+0000', '{"text":"\\u0000"}', json, 422, 'U+0000'],
    ['U+0000 in a payload', '{"text":"a","payload":["\\u0000"]}', json, 422, 'U+0000'],
    ['no UTF-8', Buffer.from('{"text":"\xff"}', 'latin1'), json, 400, 'not valid UTF-8'],
    ['text', '{}', { 'content-type': 'text/plain' }, 415, 'application/json'],
    ['no type', '{}', {}, 415, 'application/json'],
    ['a broken type', '{}', { 'content-type': '/' }, 415, 'application/json'],
    ['latin1', '{}', { 'content-type': 'application/json; charset=latin1' }, 415, 'UTF-8'],
    ['gzip', '{}', { ...json, 'content-encoding': 'gzip' }, 415, 'Content-Encoding'],
    ['257 KiB', `"${'x'.repeat(257 * 1024)}"`, json, 413, '256 KiB'],
    ['a large payload', `{"text":"a","payload":"${'x'.repeat(65_535)}"}`, json, 422, '65536 bytes'],
  ])('%s', async (_name, body, headers, status, error) => {
    const answer = await post(body, headers)
    expect(answer.statusCode).toBe(status)
    expect(answer.json().status).toBe(status)
    expect(answer.json().errors.join()).toContain(error)
  })

  test.each(['application/json;charset=UTF-8', 'application/merge-patch+json', 'Application/JSON'])(
    'takes %s',
    async (type) => {
      expect((await post('{"text":"a"}', { 'content-type': type })).statusCode).toBe(201)
    },
  )

  test.each<[string, number]>([
    ['/nowhere', 404],
    ['/v1/notes/not-an-id', 404],
    ['/v1/notes/%00', 400],
    ['/v1/notes/%ff', 400],
    ['/v1/notes/%', 400],
    [`/v1/notes/${'x'.repeat(3000)}`, 422],
    ['/v1/notes?limit=%00', 400],
    ['/v1/notes?limit=%', 400],
    ['/v1/notes?limit=%ff', 400],
    ['/v1/notes?limit=1&limit=2', 422],
    ['/v1/notes?limit=0', 422],
    ['/v1/notes?limit=-1', 422],
    ['/v1/notes?limit=1.5', 422],
    ['/v1/notes?limit=', 422],
    ['/v1/notes?limit=1e2', 422],
    ['/v1/notes?__proto__=1', 422],
    ['/v1/notes?constructor=1', 422],
    ['/v1/notes?cursor=%22', 422],
    ['/v1/notes?cursor=W10', 422],
    ['/v1/notes?page=2', 422],
    [`/v1/notes/${ID}?x=1`, 422],
    ['//', 404],
  ])('GET %s', async (url, status) => {
    const answer = await get(url)
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
  })

  test('limits and cursors', async () => {
    const first = (await get('/v1/notes?limit=99999999999999999999')).json()
    expect(first.data[0].limit).toBe(500)
    expect((await get('/v1/notes')).json().data[0].limit).toBe(100)
    const second = (await get(`/v1/notes?limit=7&cursor=${first.next_cursor}`)).json()
    expect(second.data[0]).toEqual({ limit: 7, cursor: ['2030-01-01T00:00:00Z', ID] })
  })

  test('405 with Allow, whatever the body', async () => {
    const answer = await app.inject({ method: 'PUT', url: '/v1/notes', payload: '<x/>' })
    expect(answer.statusCode).toBe(405)
    expect(answer.headers.allow).toBe('GET, HEAD, POST')
    const other = await app.inject({ method: 'POST', url: `/v1/notes/${ID}` })
    expect(other.headers.allow).toBe('DELETE, GET, HEAD')
    expect((await app.inject({ method: 'DELETE', url: '/healthz' })).headers.allow).toBe(
      'GET, HEAD',
    )
  })

  test('401 with WWW-Authenticate, before the body is looked at', async () => {
    const answer = await post('{', { ...json, authorization: 'Bearer wrong' })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  test('403 for a role that may not', async () => {
    const headers = { authorization: 'Bearer user' }
    const answer = await app.inject({ method: 'DELETE', url: `/v1/notes/${ID}`, headers })
    expect(answer.statusCode).toBe(403)
    expect(answer.json().errors).toEqual(['delete_note is for admin; these credentials are user'])
  })

  test.each(['away', 'shutdown'])('503 with Retry-After when the database is %s', async (how) => {
    const answer = await app.inject({ method: 'POST', url: `/v1/fail/${how}` })
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('2')
    expect(answer.body).not.toContain('10.0.0.3')
  })

  test('429 with Retry-After', async () => {
    const answer = await app.inject({ method: 'POST', url: '/v1/fail/limited' })
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '3'])
  })

  test('500 says nothing and is logged with its id', async () => {
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    const logged = door({ logger })
    const answer = await logged.inject({ method: 'POST', url: '/v1/fail/oops' })
    await logged.inject({ url: '/healthz' })
    await logged.close()
    expect(answer.statusCode).toBe(500)
    expect(answer.body).not.toContain('postgres')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      request_id: answer.json().request_id,
      err: { message: 'secret: postgres://u:p@db' },
    })
  })
})

describe('on the wire', () => {
  test('what is not HTTP', async () => {
    expect(await raw('nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 .*problem\+json/s)
    const long = `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`
    expect(await raw(long)).toMatch(/^HTTP\/1.1 413 /)
  })

  test('a body beyond the limit', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(300 * 1024) })
    const answer = await fetch(`http://127.0.0.1:${port}/v1/notes`, {
      method: 'POST',
      body,
      headers: json,
    })
    expect(answer.status).toBe(413)
    await answer.body?.cancel()
  })

  test('malformed JSON does not cost the connection', async () => {
    const answer = await post('{')
    expect(answer.statusCode).toBe(400)
    expect(answer.headers.connection).not.toBe('close')
  })

  test('aborts the signal when the client leaves', async () => {
    let hearOfIt = () => {}
    const left = new Promise<void>((done) => {
      hearOfIt = done
    })
    const run: Operation['run'] = async (ctx) => {
      ctx.signal().addEventListener('abort', hearOfIt)
      call.destroy()
      await left
      return { body: null }
    }
    const waiting = door({ operations: noteOperations.map((op) => ({ ...op, run })) })
    await waiting.listen({ host: '127.0.0.1', port: 0 })
    const target = (waiting.server.address() as AddressInfo).port
    const call = httpRequest({ port: target, host: '127.0.0.1', method: 'GET', path: '/v1/notes' })
    call.on('error', () => {})
    call.end()
    await left
    await waiting.close()
  })
})

describe('on loopback', () => {
  test.each<[Record<string, string>, number]>([
    [{ host: 'localhost:8787' }, 200],
    [{ host: '127.0.0.1' }, 200],
    [{ host: '[::1]:1' }, 200],
    [{ host: 'evil.example' }, 403],
    [{ host: 'localhost.evil.example' }, 403],
    [{ host: '127.0.0.1.evil.example:80' }, 403],
    [{ origin: 'http://localhost:5173' }, 200],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'http://localhost.evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ])('%j gets %i', async (headers, status) => {
    expect((await get('/healthz', headers)).statusCode).toBe(status)
  })

  test('beyond it names are not judged', async () => {
    const open = door({ loopback: false })
    const headers = { host: 'wakeful.example', origin: 'https://wakeful.example' }
    expect((await open.inject({ url: '/healthz', headers })).statusCode).toBe(200)
    await open.close()
  })
})
