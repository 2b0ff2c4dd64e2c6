/**
 * The file of a run, to its owner only. It was written by somebody's program or model, so no browser may show it
 * in our name: it is saved, with a type that is not guessed, and would run in a sandbox.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../api/contract.ts'
import { inAnyShard } from '../api/shards.ts'
import { Refusal } from '../core/errors.ts'
import { isUuid } from '../core/ids.ts'
import { NO_SPAN } from '../core/trace/trace.ts'
import { attachment, mediaType } from '../features/work/file.ts'
import { findFile } from '../features/work/rows.ts'
import type { FileKeeper } from '../files/keeper.ts'
import { refuseRest, routePath } from './methods.ts'
import { callerOf } from './operation.ts'
import type { Caller } from './server.ts'

const FILE_PATH = '/v1/work/{id}/outputs/{run_number}/file'
const RUN_NUMBER = /^[1-9]\d{0,8}$/

export interface FileRouteOptions {
  readonly authenticate: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
  readonly context: (caller: Caller) => Context
  readonly files: FileKeeper
}

export function addFileRoute(app: FastifyInstance, options: FileRouteOptions): void {
  const url = routePath(FILE_PATH)
  app.get(url, {
    onRequest: async (request, reply) => {
      // No operation, so nothing of it is traced.
      request.span = NO_SPAN
      await options.authenticate(request, reply)
    },
    handler: async (request, reply) => {
      const ctx = options.context(callerOf(request, reply))
      return sendFile(ctx, options.files, request, reply)
    },
  })
  refuseRest(app, url, new Set(['GET', 'HEAD']))
}

async function sendFile(
  ctx: Context,
  files: FileKeeper,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (ctx.actor.role === 'worker')
    throw new Refusal('forbidden', 'files are for admin, service, agent and user keys')
  const { id, run_number } = request.params as { id: string; run_number: string }
  const absent = () => new Refusal('not_found', 'this run has no file')
  if (!isUuid(id) || !RUN_NUMBER.test(run_number)) throw absent()
  const { userId } = ctx.actor
  const found = await inAnyShard(ctx, ({ db }) => findFile(db, id, Number(run_number), userId))
  if (found === null) throw absent()
  const file = await files.open(found.file_key, ctx.signal())
  if (file === null) throw absent()
  return reply
    .headers({
      'content-type': mediaType(found.file_format),
      'content-length': String(file.size),
      'content-disposition': attachment(found.file_name),
      'content-security-policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'",
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'private, no-store',
    })
    .send(file.stream)
}
