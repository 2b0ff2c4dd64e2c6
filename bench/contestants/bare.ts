/** The bare route: Fastify with a checked body and a small answer, and nothing behind it. */
import Fastify from 'fastify'
import { contest } from './contest.ts'

const server = Fastify()
const body = {
  type: 'object',
  required: ['text'],
  additionalProperties: false,
  properties: { text: { type: 'string', minLength: 1 }, id: { type: 'string' } },
}
const ANSWER = { id: '0195f2a4-0000-7000-8000-000000000000', seq: 1, type: 'user_message' }

server.post('/', { schema: { body } }, async () => ANSWER)
server.get('/', async () => ANSWER)

await contest({
  async seed() {},
  start: () => server.listen({ host: '127.0.0.1', port: 0 }),
  async left() {
    return false
  },
  stop: () => server.close(),
})
