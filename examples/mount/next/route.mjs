// A Next.js route handler: save it as app/wakeful/[[...path]]/route.js. It serves everything but sockets.
import { agent, wakeful } from 'wakeful'

export const dynamic = 'force-dynamic'

// Next.js loads a module again after each change in development: keep one app for the process.
globalThis.wakefulApp ??= wakeful({
  basePath: '/wakeful',
  agents: { echo: agent((turn) => turn.say(`You said: ${turn.event.payload.text}`)) },
}).then(async (app) => {
  await app.start()
  return app
})

const handle = async (request) => (await globalThis.wakefulApp).fetch(request)

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST, handle as PUT }
