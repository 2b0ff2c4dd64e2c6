// Wakeful below /wakeful of an Express server, next to its own routes.
import express from 'express'
import { agent, wakeful } from 'wakeful'

const app = await wakeful({
  basePath: '/wakeful',
  agents: { echo: agent((turn) => turn.say(`You said: ${turn.event.payload.text}`)) },
})
await app.start()

const host = express()
host.use(app.handler) // before express.json(): Wakeful reads its own bodies
host.use(express.json())
host.get('/hello', (_request, response) => response.send('hello'))

const server = host.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}`),
)
server.on('upgrade', (request, socket, head) => {
  if (!app.upgrade(request, socket, head)) socket.destroy() // or your own sockets
})
process.once('SIGTERM', () => server.close(() => app.stop()))
