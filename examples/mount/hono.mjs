// Wakeful below /wakeful of a Hono server, next to its own routes.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { agent, wakeful } from 'wakeful'

const app = await wakeful({
  basePath: '/wakeful',
  agents: { echo: agent((turn) => turn.say(`You said: ${turn.event.payload.text}`)) },
})
await app.start()

const host = new Hono()
host.get('/hello', (context) => context.text('hello'))
host.all('/wakeful/*', (context) => app.fetch(context.req.raw))

const options = { fetch: host.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }
const server = serve(options, ({ port }) => console.log(`listening on http://127.0.0.1:${port}`))
server.on('upgrade', (request, socket, head) => {
  if (!app.upgrade(request, socket, head)) socket.destroy() // or your own sockets
})
process.once('SIGTERM', () => server.close(() => app.stop()))
