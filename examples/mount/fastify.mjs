// Wakeful below /wakeful of a Fastify server, next to its own routes.
import Fastify from 'fastify'
import { agent, wakeful } from 'wakeful'

const app = await wakeful({
  basePath: '/wakeful',
  agents: { echo: agent((turn) => turn.say(`You said: ${turn.event.payload.text}`)) },
})
await app.start()

const host = Fastify()
host.get('/hello', () => 'hello')
host.addHook('onRequest', (request, reply, next) => {
  if (!request.url.startsWith('/wakeful')) return next()
  reply.hijack() // Wakeful reads the body and writes the answer
  app.handler(request.raw, reply.raw)
})
host.server.on('upgrade', (request, socket, head) => {
  if (!app.upgrade(request, socket, head)) socket.destroy() // or your own sockets
})
console.log(`listening on ${await host.listen({ port: Number(process.env.PORT ?? 3000) })}`)
process.once('SIGTERM', () => host.close().then(() => app.stop()))
