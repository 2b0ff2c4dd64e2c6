/**
 * Closing a server without waiting for those who do not talk. Node closes connections that wait for their next
 * request; one that never sent a first, as browsers open ahead of time, or half of one, would keep it open.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

const SWEEP_MS = 50
/** Requests under way may end; nothing a client does or leaves undone holds a stop for longer. */
const GRACE_MS = 3_000

/** To be called before the server listens: it sees every connection from then on. Answers how to close. */
export function closing(app: FastifyInstance, graceMs: number = GRACE_MS): () => Promise<void> {
  const { server } = app
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return async () => {
    // A request that ends while we close leaves its connection open for the next one, too.
    const sweep = setInterval(() => {
      server.closeIdleConnections()
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    }, SWEEP_MS)
    const end = setTimeout(() => {
      for (const socket of open) socket.destroy()
    }, graceMs)
    try {
      await app.close()
    } finally {
      clearInterval(sweep)
      clearTimeout(end)
    }
  }
}
