/**
 * `wakeful mcp`: the tools over standard input and output, for clients that start their servers themselves. With
 * WAKEFUL_URL they are those of a running server; without it this process opens the database.
 */
import { pino } from 'pino'
import type { Door } from '../../../src/api/callers/caller.ts'
import { localActor } from '../../../src/api/callers/local.ts'
import { App, VERSION } from '../../../src/app/app.ts'
import { operations } from '../../../src/app/operations.ts'
import { readConfig } from '../../../src/app/packs.ts'
import { wallClock } from '../../../src/clock.ts'
import { environment, readRemote } from '../../../src/config.ts'
import { errorText } from '../../../src/core/errors.ts'
import { OpenStreams } from '../../../src/mcp/event-stream.ts'
import { eventOperations } from '../../../src/mcp/events.ts'
import type { ToolSet } from '../../../src/mcp/server.ts'
import { allTools } from '../../../src/mcp/tool.ts'
import { DirectoryInUseError } from '../../../src/store/lock.ts'
import { remoteDoor } from '../../mcp-stdio/src/remote.ts'
import { serveMcp } from '../../mcp-stdio/src/stdio.ts'
import { loadApp } from './serve.ts'

const STOP_MAX_MS = 10_000

interface Opened {
  readonly door: Door
  close(): Promise<void>
}

export async function mcp({ tools: set = 'default' }: { tools?: ToolSet } = {}): Promise<void> {
  const { url, key, actAs } = readRemote(environment())
  const as = actAs === null ? {} : { actAs }
  const opened: Opened =
    url === null
      ? await openHere(actAs)
      : {
          door: remoteDoor({
            baseUrl: url,
            ...(key === null ? {} : { key }),
            ...as,
            now: wallClock,
          }),
          close: async () => undefined,
        }
  const streams = new OpenStreams()
  const served = serveMcp({
    streams,
    tools: allTools(operations),
    set,
    events: eventOperations(operations),
    version: VERSION,
    door: opened.door,
    input: process.stdin,
    output: process.stdout,
    onError: (error) => process.stderr.write(`wakeful mcp: ${errorText(error)}\n`),
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => served.close())
  await served.done
  streams.close()
  // A client that waits for us to end does not wait for long.
  setTimeout(() => process.exit(1), STOP_MAX_MS).unref()
  await opened.close()
  process.exit(0)
}

/**
 * The store in this process. An embedded one belongs to one process, so what is due is run here too; beside a
 * PostgreSQL others do that, with agents that this process may not know.
 */
async function openHere(actAs: string | null): Promise<Opened> {
  const config = readConfig(environment())
  const embedded = !config.databaseUrl.startsWith('postgres')
  const log = pino({ level: config.logLevel, base: null }, pino.destination({ fd: 2, sync: true }))
  const actor = localActor(actAs ?? undefined)
  const app = await App.open({
    config: { ...config, services: embedded ? config.services : [] },
    ...(await loadApp(config)),
    log,
  }).catch((error: unknown) => {
    throw error instanceof DirectoryInUseError ? besides(error) : error
  })
  await app.start()
  return { door: app.door(actor), close: () => app.stop() }
}

function besides(error: DirectoryInUseError): Error {
  return new Error(
    `${error.message}; or, if that is a Wakeful server, set WAKEFUL_URL (such as http://127.0.0.1:8787) and this command works beside it`,
  )
}
