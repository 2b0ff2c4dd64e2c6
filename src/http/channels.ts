/**
 * `/v1/channels/{name}`, where vendors post what people wrote, and `/v1/hooks/{name}`, where other servers post what happened
 * there. Each proves by itself who is asking, over the bytes as they came.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../core/errors.ts'
import { NO_SPAN } from '../core/trace/trace.ts'
import type { ChannelAnswer, ChannelRequest } from '../kernel/channel.ts'
import { refuseRest } from './methods.ts'
import { BODY_BYTES_MAX } from './reading.ts'

/** Answers for the channel of that name; null: no such channel, or one that receives nothing. */
export type ChannelDoor = (
  name: string,
  request: Omit<ChannelRequest, 'now'>,
) => Promise<ChannelAnswer> | null

/** Larger bodies are refused before they are read. */
const DOORS = {
  channels: {
    path: '/v1/channels/:name',
    methods: ['GET', 'POST'],
    // A mail with a picture in it.
    bodyLimit: 5 * 1024 * 1024,
  },
  /** The other methods of its path are operations. */
  hooks: { path: '/v1/hooks/:name', methods: ['POST'], bodyLimit: BODY_BYTES_MAX },
}
export const HOOK_PATH = DOORS.hooks.path
const NOTHING = Buffer.alloc(0)

export function addChannelRoute(
  app: FastifyInstance,
  kind: keyof typeof DOORS,
  door: ChannelDoor,
  limitStrangers: (address: string) => Refusal | null,
): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { name } = request.params as { name: string }
    const answered = door(name, {
      method: request.method === 'GET' ? 'GET' : 'POST',
      headers: request.headers,
      query: request.query as Record<string, string>,
      body: Buffer.isBuffer(request.body) ? request.body : NOTHING,
    })
    if (answered === null)
      throw new Refusal('not_found', `nothing accepts posts to ${kind}/${name} here`)
    const { status, body } = await answered.catch((error: unknown) => {
      if (error instanceof Refusal && error.code === 'unauthenticated')
        throw limitStrangers(request.ip) ?? error
      throw error instanceof SyntaxError ? new Refusal('malformed', 'the body is not JSON') : error
    })
    // What proves right is never braked, whatever wrong came from its address.
    const refusal = status === 401 ? limitStrangers(request.ip) : null
    if (refusal !== null) throw refusal
    if (body === undefined) return reply.code(status).send()
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return reply.code(status).header('content-type', `${type}; charset=utf-8`).send(text)
  }
  const { path, methods, bodyLimit } = DOORS[kind]
  app.route({
    method: methods,
    url: path,
    exposeHeadRoute: false,
    bodyLimit,
    onRequest: async (request) => {
      request.span = NO_SPAN
    },
    handler: answer,
  })
  if (kind === 'channels') refuseRest(app, path, new Set(methods))
}
