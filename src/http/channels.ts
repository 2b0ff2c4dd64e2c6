/** `/v1/channels/{name}`: where vendors post what people wrote, and other servers what happened there. Each proves by itself who is asking, over the bytes as they came. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../core/errors.ts'
import { NO_SPAN } from '../core/trace/trace.ts'
import type { ChannelAnswer, ChannelRequest } from '../kernel/channel.ts'
import { refuseRest } from './methods.ts'

/** Answers for the channel of that name; null: no such channel, or one that receives nothing. */
export type ChannelDoor = (
  name: string,
  request: Omit<ChannelRequest, 'now'>,
) => Promise<ChannelAnswer> | null

const PATH = '/v1/channels/:name'
/** A mail with a picture in it; larger bodies are refused before they are read. */
const BODY_BYTES_MAX = 5 * 1024 * 1024
const NOTHING = Buffer.alloc(0)

export function addChannelRoute(
  app: FastifyInstance,
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
    if (answered === null) throw new Refusal('not_found', `no channel ${name} is written to here`)
    const { status, body } = await answered.catch((error: unknown) => {
      throw error instanceof SyntaxError ? new Refusal('malformed', 'the body is no JSON') : error
    })
    // What proves right is never braked, whatever wrong came from its address.
    const refusal = status === 401 ? limitStrangers(request.ip) : null
    if (refusal !== null) throw refusal
    if (body === undefined) return reply.code(status).send()
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return reply.code(status).header('content-type', `${type}; charset=utf-8`).send(text)
  }
  app.route({
    method: ['GET', 'POST'],
    url: PATH,
    exposeHeadRoute: false,
    bodyLimit: BODY_BYTES_MAX,
    onRequest: async (request) => {
      request.span = NO_SPAN
    },
    handler: answer,
  })
  refuseRest(app, PATH, new Set(['GET', 'POST']))
}
