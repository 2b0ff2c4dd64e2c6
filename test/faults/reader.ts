/** Readers of sockets; what came goes into their own file. */
import { WebSocket } from 'ws'
import { afterEachTest } from '../setup/ends.ts'
import { until } from '../setup/until.ts'
import type { World } from './world.ts'

const open = new Set<WebSocket>()
afterEachTest(() => {
  for (const socket of open) socket.terminate()
  open.clear()
})

let readers = 0

export interface Reader {
  readonly socket: WebSocket
  readonly ids: string[]
  /** Waits until so many different messages have come. */
  hears(count: number): Promise<void>
}

interface Options {
  /** Acknowledge what comes; the default. */
  readonly ack?: boolean
  readonly name?: string
}

export async function listenTo(
  world: World,
  url: string,
  key: string,
  options: Options = {},
): Promise<Reader> {
  const { ack = true, name = `reader${++readers}` } = options
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/sessions/${key}/socket`)
  open.add(socket)
  const ids: string[] = []
  socket.on('error', () => socket.terminate())
  socket.on('close', () => open.delete(socket))
  const ready = new Promise<void>((done, fail) => {
    socket.once('close', (code) => fail(new Error(`closed with ${code} before it was ready`)))
    socket.on('message', (data) => {
      const frame = JSON.parse(String(data)) as { type: string; id?: string }
      if (frame.type === 'ready') done()
      if (frame.id === undefined || frame.type === 'event') return
      world.heard.saw({ key, id: frame.id, reader: name })
      ids.push(frame.id)
      if (ack) socket.send(JSON.stringify({ type: 'ack', id: frame.id }))
    })
  })
  await ready
  const hears = async (count: number) => {
    await until(`${name} hears ${count}`, () => new Set(ids).size >= count)
  }
  return { socket, ids, hears }
}
