/**
 * Opens the store of forecasts: embedded, in memory, in a process of its own. The embedded database takes 300 MB and keeps its thread busy while a
 * statement runs; the server has other requests to serve, and gets all of that memory back when the process ends. Bytes of PostgreSQL's protocol
 * go there and back, so `pg` works as with a server. A caller with many statements runs them beside the store instead (`play`): a trip
 * there and back takes as long as half a statement.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { OpenOptions, Store } from '../../../src/store/open.ts'
import { embeddedStore, PgliteSocket } from '../../../src/store/pglite.ts'
import type { Played, Stretch, Trouble } from './play.ts'
import type { Flag, FromStore, ToStore } from './process.ts'

export interface StoreProcess {
  readonly store: Store
  /** Runs one stretch beside the store. An aborted signal is told to it. */
  play(stretch: Stretch, flags: Readonly<Record<Flag, AbortSignal>>): Promise<Played>
}

export async function openStoreProcess(
  options: OpenOptions,
  trouble: Trouble,
): Promise<StoreProcess> {
  const child = forked()
  const end = new AbortController()
  const ended = () => end.abort(new Error('the process of the forecast store has ended'))
  const exited = new Promise<void>((done) => child.once('exit', () => done(ended())))
  child.once('error', (error) => end.abort(error))
  const { exchange, send } = exchangeWith(child, end.signal, trouble)
  await exchange(null, (said) => ('open' in said ? true : null))
  const wire = () => {
    const socket = new PgliteSocket((ask) =>
      exchange({ ask }, (said) => ('answer' in said ? said.answer : null)),
    )
    end.signal.addEventListener('abort', () =>
      // After the client's goodbye, the end is no error.
      socket.writableEnded ? socket.destroy() : socket.destroy(end.signal.reason),
    )
    return socket
  }
  const close = async () => {
    child.kill('SIGKILL')
    await exited
  }
  return {
    // Each statement is planned once: with few rows, planning takes longer than running.
    store: embeddedStore({ wire }, close, { ...options, ordered: true }),
    async play(stretch, flags) {
      const all = Object.entries(flags) as [Flag, AbortSignal][]
      const [raised, open] = [all.filter(([, s]) => s.aborted), all.filter(([, s]) => !s.aborted)]
      const done = new AbortController()
      for (const [raise, signal] of open)
        signal.addEventListener('abort', () => send({ raise }), { signal: done.signal })
      try {
        return await exchange({ stretch, raised: raised.map(([flag]) => flag) }, (said) => {
          if ('failed' in said) throw said.failed
          return 'played' in said ? said.played : null
        })
      } finally {
        done.abort()
      }
    },
  }
}

function forked(): ChildProcess {
  const isSource = import.meta.url.endsWith('.ts')
  const tsx = () => pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  // The bundle has this file in dist/chunks.
  const entry = isSource ? './process.ts' : '../forecast-process.js'
  const child = fork(fileURLToPath(new URL(entry, import.meta.url)), {
    execArgv: isSource ? ['--import', tsx()] : [],
    serialization: 'advanced',
    // Standard output may be the protocol of this process (MCP).
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  child.unref()
  return child
}

/** Sends messages, and waits for the one that answers. The server may exit while nothing is awaited. */
function exchangeWith(child: ChildProcess, ended: AbortSignal, trouble: Trouble) {
  let awaited = 0
  child.channel?.unref()
  child.on('message', (said: FromStore) => {
    if ('trouble' in said) trouble(...said.trouble)
  })
  const send = (told: ToStore) => void child.send(told, () => undefined)
  /** `read` returns null for messages that are not the answer. */
  const exchange = async <T>(
    told: ToStore | null,
    read: (said: FromStore) => T | null,
  ): Promise<T> => {
    ended.throwIfAborted()
    awaited += 1
    child.channel?.ref()
    const done = new AbortController()
    try {
      return await new Promise<T>((resolve, reject) => {
        ended.addEventListener('abort', () => reject(ended.reason), { signal: done.signal })
        const heard = (said: FromStore) => {
          try {
            const answer = read(said)
            if (answer !== null) resolve(answer)
          } catch (error) {
            reject(error)
          }
        }
        child.on('message', heard)
        done.signal.addEventListener('abort', () => child.off('message', heard))
        if (told !== null) send(told)
      })
    } finally {
      done.abort()
      awaited -= 1
      if (awaited === 0) child.channel?.unref()
    }
  }
  return { exchange, send }
}
