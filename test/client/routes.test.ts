/** The client's table of routes is the server's table of operations, and nothing of the server comes along with it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { requestOf, routeOf } from '../../packages/client/src/route.ts'
import { ROUTES } from '../../packages/client/src/routes.ts'
import type { Operation } from '../../src/api/contract.ts'
import { operations } from '../../src/app/operations.ts'
import { loaded } from '../setup/loaded.ts'

const CLIENT = fileURLToPath(new URL('../../packages/client/src/', import.meta.url))

function written(op: Operation): string {
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(op.method)
  const query = hasBody ? Object.keys(op.query?.shape ?? {}) : []
  const marks = [
    ...(op.creates ? ['creates'] : []),
    ...(query.length > 0 ? [`query=${query.join(',')}`] : []),
  ]
  return [op.method, op.path, ...marks].join(' ')
}

const HEAD = `/**
 * Every operation as a route; all that the client knows of the server at run time. Written by
 * \`UPDATE_ROUTES=1 npx vitest run test/client/routes.test.ts\`, which also fails when it is out of date.
 */
import type { OperationName } from './call.ts'

`

it('lists every operation as the server has it', () => {
  const rows = Object.fromEntries(operations.map((op) => [op.name, written(op)]))
  if (process.env.UPDATE_ROUTES === '1') {
    const lines = Object.entries(rows).map(([name, route]) => `  ${name}: '${route}',\n`)
    writeFileSync(
      `${CLIENT}routes.ts`,
      `${HEAD}export const ROUTES: Readonly<Record<OperationName, string> & Record<string, string>> = {\n${lines.join('')}}\n`,
    )
  } else {
    expect(ROUTES, 'run this test with UPDATE_ROUTES=1').toEqual(rows)
  }
})

it('finds each field in one part of the request only, so that they fit into one object', () => {
  for (const op of operations) {
    const parts = [op.params, op.query, op.body].flatMap((part) => Object.keys(part?.shape ?? {}))
    expect(parts, op.name).toEqual([...new Set(parts)])
  }
})

it('puts fields where they belong', () => {
  expect(
    requestOf(routeOf('POST /v1/a/{id}/b creates query=wait'), { id: 'x/y', wait: 3, text: 'hi' }),
  ).toEqual({ method: 'POST', path: '/v1/a/x%2Fy/b?wait=3', body: { text: 'hi' } })
  expect(requestOf(routeOf('GET /v1/a'), { status: 'active', limit: undefined })).toEqual({
    method: 'GET',
    path: '/v1/a?status=active',
  })
  for (const id of ['', '.', '..', undefined])
    expect(() => requestOf(routeOf('GET /v1/a/{id}'), { id })).toThrow('id: takes')
})

it('brings nothing of the server into a browser', () => {
  const files = [...loaded(join(CLIENT, 'index.ts'))]
  expect(files.length).toBeGreaterThan(5)
  expect(files.filter((path) => !path.startsWith(CLIENT))).toEqual([])
})
