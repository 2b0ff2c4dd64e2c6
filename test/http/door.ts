/** A door with a few operations of its own, for tests of what all operations share. */
import { pino } from 'pino'
import { z } from 'zod'
import {
  type Actor,
  type Context,
  idParam,
  listQuery,
  opaqueJson,
  operation,
  page,
  ROLES,
} from '../../src/api/contract.ts'
import { Refusal } from '../../src/core/errors.ts'
import * as idempotency from '../../src/features/identity/idempotency-rows.ts'
import { createServer, type ServerOptions } from '../../src/http/server.ts'
import type { Db } from '../../src/store/db.ts'

export const ADMIN: Actor = {
  role: 'admin',
  ownerDid: null,
  userId: null,
  agentId: null,
  keyId: null,
  actAs: false,
}

/** For operations that never ask it anything. */
export const noDb: Db = {
  kind: 'pglite',
  schema: 'wakeful',
  now: () => null,
  time: async () => 0,
  query: () => Promise.reject(new Error('no database in this test')),
  exec: () => Promise.reject(new Error('no database in this test')),
  tx: (work) => work(noDb),
}

/** For operations that ask nothing of the rest of the app. */
const noKernel = {
  changed: () => {},
  policy: { autonomy: true, maxConsecutive: 3, cooldownMs: 15_000 },
  agents: { knows: () => false, names: [] },
  channels: new Map(),
} as unknown as Context['kernel']

const note = z.object({
  text: z.string().trim().min(1, 'must not be blank').max(100),
  size: z.int().min(1).max(9).optional(),
  color: z.enum(['red', 'blue']).optional(),
  payload: opaqueJson.optional(),
})

const head = { tag: 'Notes', roles: ROLES, output: null, audit: 'none' } as const

export const noteOperations = [
  operation({
    owner: 'caller',
    ...head,
    name: 'create_note',
    method: 'POST',
    path: '/v1/notes',
    summary: 'Write a note',
    body: note,
    opaque: ['payload'],
    status: 201,
    creates: true,
    output: note,
    run: async (_ctx, { body }) => ({ body }),
  }),
  operation({
    owner: 'caller',
    ...head,
    name: 'list_notes',
    method: 'GET',
    path: '/v1/notes',
    summary: 'List <notes>',
    query: listQuery({ max: 500, default: 100 }),
    run: async (_ctx, { query }) => ({ body: { ...page([query], ['2030-01-01T00:00:00Z', ID]) } }),
  }),
  operation({
    owner: 'caller',
    ...head,
    name: 'get_note',
    method: 'GET',
    path: '/v1/notes/{id}',
    summary: 'Read a note',
    params: z.object({ id: idParam }),
    run: async (_ctx, { params }) => ({ body: params }),
  }),
  operation({
    owner: 'caller',
    ...head,
    name: 'delete_note',
    method: 'DELETE',
    path: '/v1/notes/{note_id}',
    summary: 'Delete a note',
    params: z.object({ note_id: idParam }),
    status: 204,
    roles: ['admin'],
    run: async () => ({ body: null }),
  }),
  operation({
    owner: 'caller',
    ...head,
    name: 'fail',
    method: 'POST',
    path: '/v1/fail/{how}',
    summary: 'Fail',
    params: z.object({ how: z.string() }),
    roles: 'public',
    run: async (_ctx, { params }) => {
      throw failures[params.how] ?? new Error('secret: postgres://u:p@db')
    },
  }),
]
export const ID = '0195f5a0-0000-7000-8000-000000000001'

const failures: Readonly<Record<string, Error>> = {
  away: Object.assign(new Error('connect ECONNREFUSED 10.0.0.3:5432'), { code: 'ECONNREFUSED' }),
  shutdown: Object.assign(new Error('terminating connection'), { code: '57P01' }),
  limited: new Refusal('rate_limited', 'slow down', { retryAfterMs: 2_500 }),
}

export function context(db: Db): ServerOptions['context'] {
  return (caller): Context => ({
    db,
    kernel: noKernel,
    actor: caller.actor,
    now: null,
    signal: () => caller.signal,
    requestId: caller.requestId,
  })
}

export function door(options: Partial<ServerOptions> = {}) {
  return createServer({
    operations: noteOperations,
    context: context(noDb),
    authenticate: async (headers) => {
      if (headers.authorization === undefined) return ADMIN
      if (headers.authorization === 'Bearer user') return { ...ADMIN, role: 'user', userId: 'u' }
      throw new Refusal('unauthenticated', 'this key is not known')
    },
    logger: pino({ level: 'silent' }),
    health: async () => ({ ok: true, body: { status: 'ok' } }),
    ready: async () => true,
    metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'up 1\n' }),
    idempotency,
    version: '1.2.3',
    ...options,
  })
}
