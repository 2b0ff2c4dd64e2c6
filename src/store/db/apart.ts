/**
 * An embedded store in memory, in a thread of its own: PGlite keeps its thread busy while a statement runs, and this one has others to
 * serve. Bytes of PostgreSQL's protocol go there and back, one write at a time, so all of `pg` is as with a server.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ROOT } from '../../root.ts'
import type { OpenOptions, Store } from './open.ts'
import { embeddedStore, OWN_PARAMS, sparingly } from './pglite.ts'
import { preparedDirectory } from './prepared.ts'
import { Wire } from './wire.ts'

/** Written as text, since a thread begins with a file and the sources are no files that Node could run. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads')
import(workerData.pglite).then(async ({ PGlite }) => {
  const { directory } = workerData
  const startParams = [...PGlite.defaultStartParams, ...workerData.params]
  const loadDataDir = directory === null ? undefined : new Blob([directory])
  const lite = await PGlite.create({ loadDataDir, startParams })
  workerData.directory = null
  // As it comes: asked for as a whole, the answer would be read here, too, and all of it kept.
  parentPort.on('message', async (bytes) => {
    const parts = []
    await lite.execProtocolRawStream(bytes, { syncToFs: false, onRawData: (part) => parts.push(part.slice()) })
    const answer = parts.length === 1 ? parts[0] : new Uint8Array(Buffer.concat(parts))
    parentPort.postMessage(answer, [answer.buffer])
  })
  parentPort.postMessage('open')
})`

/** Where `scripts/bundle.mjs` puts it: an app that has the package beside us may have another version. */
const BUNDLED = 'dist/pglite.js'

export async function openApart(options: OpenOptions): Promise<Store> {
  const directory = await preparedDirectory()
  const pglite = pathToFileURL(
    import.meta.filename.startsWith(join(ROOT, 'dist'))
      ? join(ROOT, BUNDLED)
      : createRequire(import.meta.url).resolve('@electric-sql/pglite'),
  ).href
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { pglite, directory, params: OWN_PARAMS },
    transferList: directory === null ? [] : [directory.buffer],
  })
  thread.unref()
  const opened = () =>
    new Promise<void>((done, failed) => {
      thread.once('message', () => done())
      thread.once('error', failed)
    })
  await sparingly(opened)
  // A statement is planned once: planning takes longer than running where there is little to read.
  const session = { wire: () => wireTo(thread) }
  return embeddedStore(session, () => thread.terminate(), {
    ...options,
    ordered: true,
  })
}

/** As a socket to the thread. */
function wireTo(thread: Worker): Wire {
  const wire = new Wire((bytes) => {
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
