/** Paths in the router's spelling, and what a known path answers to a method it does not have. */
import type { FastifyInstance } from 'fastify'
import type { Operation } from '../api/contract.ts'
import { Refusal } from '../core/errors.ts'

/** `/v1/alarms/{id}` in Fastify's spelling. */
export const routePath = (path: string) => path.replaceAll(/\{(\w+)\}/g, ':$1')

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** A known path with another method is 405, and says which methods there are. */
export function refuseOtherMethods(
  app: FastifyInstance,
  operations: readonly Pick<Operation, 'method' | 'path'>[],
): void {
  const known = new Map<string, Set<string>>()
  for (const op of operations) {
    // Parameters may be named differently in two operations on one path.
    const path = routePath(op.path).replaceAll(/:\w+/g, ':any')
    const methods = known.get(path) ?? new Set()
    known.set(path, methods.add(op.method))
    if (op.method === 'GET') methods.add('HEAD')
  }
  for (const [url, methods] of known) refuseRest(app, url, methods)
}

export function refuseRest(app: FastifyInstance, url: string, known: ReadonlySet<string>): void {
  const allow = [...known].sort().join(', ')
  app.route({
    method: METHODS.filter((method) => !known.has(method)),
    url,
    exposeHeadRoute: false,
    // At once, or a body in an odd format would be answered 415.
    onRequest: (_request, reply, done) => {
      reply.header('allow', allow)
      done(new Refusal('method_not_allowed', `this address takes ${allow}`))
    },
    handler: () => undefined,
  })
}
