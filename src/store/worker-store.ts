/**
 * An embedded store in memory, in a thread of its own: PGlite keeps its thread busy while a statement runs, and this one has others to
 * serve. Bytes of PostgreSQL's protocol go there and back, one write at a time, so all of `pg` is as with a server. A caller with many
 * statements to run one after the other does so in that thread, beside the store: a trip there and back takes as long as half of them.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { ROOT } from '../root.ts'
import type { OpenOptions, Store } from './open.ts'
import {
  COMPILED_SOON,
  embeddedStore,
  PgliteSocket,
  preparedDirectory,
  sparingly,
} from './pglite.ts'

/** All of it is held from the start. One person's rows fit, and the data directory is in memory anyway. */
const PARAMS = ['-c', 'shared_buffers=8MB']

/** Written as text, since a thread begins with a file and the sources are no files that Node could run. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
const { pglite, params, reader, beside, port } = workerData
const loaded = async () => {
  if (reader !== null) (await import(reader)).register()
  return import(beside)
}
const told = new Promise((heard) => parentPort.once('message', heard))
const opened = async () => {
  const { PGlite } = await import(pglite)
  const startParams = [...PGlite.defaultStartParams, ...params]
  const directory = await told
  return PGlite.create({ loadDataDir: directory === null ? undefined : new Blob([directory]), startParams })
}
Promise.all([opened(), loaded()]).then(([lite, { begin }]) => {
  // As it comes: asked for as a whole, the answer would be read here, too, and all of it kept.
  const ask = async (bytes) => {
    const parts = []
    await lite.execProtocolRawStream(bytes, { syncToFs: false, onRawData: (part) => parts.push(part.slice()) })
    return parts.length === 1 ? parts[0] : new Uint8Array(Buffer.concat(parts))
  }
  parentPort.on('message', async (bytes) => {
    const answer = await ask(bytes)
    parentPort.postMessage(answer, [answer.buffer])
  })
  begin(port, ask)
  parentPort.postMessage('open')
})`

/** Where `scripts/bundle.mjs` puts it: an app that has the package beside us may have another version. */
const BUNDLED = 'dist/pglite.js'

/** What runs in the thread, beside the store: a module with `begin`, as it lies among the sources and as the bundle has it. */
export interface Beside {
  readonly source: string
  readonly bundled: string
}

/** Asks the store in its thread, as `PgliteSocket` does. */
export type Ask = (bytes: Uint8Array) => Promise<Uint8Array>
export type Begin = (port: MessagePort, ask: Ask) => void

export interface WorkerStore {
  readonly store: Store
  /** To what runs beside it. */
  readonly port: MessagePort
  /** Aborted when its thread has ended. */
  readonly ended: AbortSignal
}

export async function openWorkerStore(options: OpenOptions, beside: Beside): Promise<WorkerStore> {
  const { port1: port, port2 } = new MessageChannel()
  const thread = new Worker(THREAD, {
    eval: true,
    execArgv: [],
    workerData: { ...modulesOf(beside), params: PARAMS, port: port2 },
    transferList: [port2],
  })
  thread.unref()
  port.unref()
  const opened = () =>
    new Promise<void>((done, failed) => {
      thread.once('message', () => done())
      thread.once('error', failed)
      // Unpacked while the thread begins.
      preparedDirectory().then(
        (directory) => thread.postMessage(directory, directory === null ? [] : [directory.buffer]),
        failed,
      )
    })
  await sparingly(opened, COMPILED_SOON).catch(async (error: unknown) => {
    await thread.terminate()
    throw error
  })
  const end = new AbortController()
  thread.once('exit', () => end.abort(new Error('the thread of the store has ended')))
  // A statement is planned once: planning takes longer than running where there is little to read.
  const session = { wire: () => wireTo(thread) }
  const store = embeddedStore(session, () => thread.terminate(), { ...options, ordered: true })
  return { store, port, ended: end.signal }
}

/** As addresses. Sources need somebody who reads TypeScript. */
function modulesOf({ source, bundled }: Beside) {
  const { resolve } = createRequire(import.meta.url)
  const at = (path: string) => pathToFileURL(path).href
  return import.meta.filename.startsWith(join(ROOT, 'dist'))
    ? { pglite: at(join(ROOT, BUNDLED)), beside: at(join(ROOT, bundled)), reader: null }
    : {
        pglite: at(resolve('@electric-sql/pglite')),
        beside: at(join(ROOT, source)),
        reader: at(join(dirname(resolve('tsx/package.json')), 'dist/esm/api/index.mjs')),
      }
}

/** As a socket to the thread. */
function wireTo(thread: Worker): PgliteSocket {
  const wire = new PgliteSocket((bytes) => {
    // A process may end while the thread waits, and not while it is asked something.
    thread.ref()
    thread.postMessage(bytes, [bytes.buffer])
    return new Promise((answered) => {
      thread.once('message', (answer: Uint8Array) => {
        thread.unref()
        answered(answer)
      })
    })
  })
  const gone = (error?: unknown) => {
    // Where the client has said goodbye it is as it should be.
    if (wire.writableEnded) wire.destroy()
    else wire.destroy(error instanceof Error ? error : new Error('the store has ended'))
  }
  thread.once('error', gone)
  thread.once('exit', gone)
  return wire
}
