/** A mail server on loopback: takes mail for anybody, unless it is told to refuse. */

import type { AddressInfo } from 'node:net'
import { createServer, type Server, type Socket } from 'node:net'

export interface Taken {
  readonly to: string
  readonly raw: string
}

export interface SmtpServer {
  readonly url: string
  readonly taken: Taken[]
  /** A line such as `550 5.1.1 no such user`, by the recipient; null lets it through. */
  recipient: (to: string) => string | null
  /** The same by the whole mail. */
  content: (raw: string, to: string) => string | null
  /** It was taken, and its sender is not told yet; waited for. */
  kept: (raw: string) => void | Promise<void>
  stop(): Promise<void>
}

export async function startSmtp(): Promise<SmtpServer> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
    talk(socket, made)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const made: SmtpServer = {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: [],
    recipient: () => null,
    content: () => null,
    kept: () => undefined,
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return made
}

/** RFC 5321, as much of it as a sender asks for. */
function talk(socket: Socket, server: SmtpServer): void {
  let [pending, to, inData] = ['', '', false]
  const say = (line: string) => socket.write(`${line}\r\n`)
  const command = (line: string) => {
    const [verb = ''] = line.toUpperCase().split(' ')
    if (verb === 'EHLO') return say('250-loopback\r\n250 8BITMIME')
    if (verb === 'RCPT') {
      to = /<(.*)>/.exec(line)?.[1] ?? ''
      return say(server.recipient(to) ?? '250 2.1.5 ok')
    }
    if (verb === 'DATA') {
      inData = true
      return say('354 go ahead')
    }
    if (verb !== 'QUIT') return say('250 ok')
    return socket.end('221 bye\r\n')
  }
  const mail = async (raw: string) => {
    const unstuffed = raw.replaceAll(/^\.\./gm, '.')
    const refusal = server.content(unstuffed, to)
    if (refusal === null) {
      server.taken.push({ to, raw: unstuffed })
      await server.kept(unstuffed)
    }
    say(refusal ?? '250 2.0.0 taken')
  }
  say('220 loopback ESMTP')
  socket.on('data', (chunk) => {
    pending += chunk.toString('utf8')
    for (;;) {
      const end = inData ? '\r\n.\r\n' : '\r\n'
      const at = pending.indexOf(end)
      if (at === -1) return
      const piece = pending.slice(0, at)
      pending = pending.slice(at + end.length)
      if (!inData) command(piece)
      else {
        inData = false
        void mail(piece)
      }
    }
  })
}
