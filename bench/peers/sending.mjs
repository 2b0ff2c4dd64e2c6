/** pg-boss behind Fastify: a request that creates one job for later, durably. */
import Fastify from 'fastify'
import { PgBoss } from 'pg-boss'
import { contest } from '../built/contest.js'

const QUEUE = 'bench'
const body = {
  type: 'object',
  required: ['delay_seconds', 'wake_message'],
  properties: {
    delay_seconds: { type: 'number', minimum: 1 },
    wake_message: { type: 'string', minLength: 1 },
  },
}
const server = Fastify()
let boss

server.post('/', { schema: { body } }, async (request, reply) => {
  const { delay_seconds, ...data } = request.body
  const id = await boss.send(QUEUE, data, { startAfter: delay_seconds })
  return reply.code(201).send({ id })
})

await contest({
  async seed() {},
  async start({ url }) {
    boss = new PgBoss({ connectionString: url, schedule: false })
    boss.on('error', console.error)
    await boss.start()
    await boss.createQueue(QUEUE)
    return server.listen({ host: '127.0.0.1', port: 0 })
  },
  async left() {
    return false
  },
  async stop() {
    await server.close()
    await boss.stop({ graceful: false })
  },
})
