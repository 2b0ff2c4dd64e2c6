/** `wakeful serve`: the server, from its settings to its last breath. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import type { Logger } from 'pino'
import type { Agent } from '../../../src/agents/agent.ts'
import type { Executor } from '../../../src/agents/executor.ts'
import { App } from '../../../src/app/app.ts'
import { type AppConfig, readConfig } from '../../../src/app/packs.ts'
import { ConfigError, environment } from '../../../src/config.ts'
import { errorText } from '../../../src/core/errors.ts'
import type { Condition } from '../../../src/features/intents/own.ts'
import type { Source } from '../../../src/features/intents/source.ts'
import type { PushChannel } from '../../../src/kernel/channel.ts'
import { createLog } from '../../../src/observe/log.ts'
import { openBrowser } from './browser.ts'
import { demoCompanion } from './demo.ts'
import { watched } from './watch.ts'

const STOP_MAX_MS = 10_000

export function serveCommand(): Command {
  return new Command('serve')
    .description('start the server (settings come from the environment)')
    .argument('[app]', 'the module with your agents (or WAKEFUL_APP; a demo by default)')
    .option('--port <port>', 'where it listens (or PORT); 0 picks a free one')
    .option('--db <url>', 'postgres://…, pglite:<directory> or memory: (or DATABASE_URL)')
    .option('--watch', 'start again when the module, or what it imports, changes')
    .option('--open', 'open the console in a browser')
    .action(serve)
}

interface Flags {
  readonly port?: string
  readonly db?: string
  readonly watch?: boolean
  readonly open?: boolean
}

async function serve(app: string | undefined, flags: Flags): Promise<void> {
  if (flags.watch) return watched()
  const config = readConfig({
    // Readable lines on a terminal, JSON when the output is piped.
    ...(process.stderr.isTTY ? { LOG_FORMAT: 'pretty' } : {}),
    ...environment(),
    ...(app === undefined ? {} : { WAKEFUL_APP: app }),
    ...(flags.port === undefined ? {} : { PORT: flags.port }),
    ...(flags.db === undefined ? {} : { DATABASE_URL: flags.db }),
  })
  const log = createLog(config)
  // A stray rejection in somebody's agent is logged; it does not end everybody's server.
  process.on('unhandledRejection', (error) =>
    log.error({ error: errorText(error) }, 'unhandled rejection'),
  )
  const server = await App.open({ config, ...(await loadApp(config)), log })
  endOnSignals(server, log)
  try {
    const address = await run(server, config)
    if (flags.open && address !== null) openBrowser(`${address}/`, log)
  } catch (error) {
    await server.stop()
    throw inUse(error, config)
  }
  log.info({ database: server.store.kind, services: config.services }, 'ready')
}

/** Answers with its address; null where it serves nothing. */
async function run(app: App, config: AppConfig): Promise<string | null> {
  let address: string | null = null
  if (config.services.includes('http')) {
    address = await app.listen()
    process.stdout.write(`listening on ${address}\n`)
    process.stdout.write(`console      ${address}/\nAPI          ${address}/docs\n`)
  }
  await app.start()
  return address
}

function inUse(error: unknown, config: AppConfig): unknown {
  const { code } = (error ?? {}) as { code?: unknown }
  if (code !== 'EADDRINUSE') return error
  return new ConfigError(
    `PORT: got ${config.port}, which is in use on ${config.host}; takes a free port, or 0 to pick one`,
  )
}

/** The first signal stops in order; a second one, or ten seconds, ends it. */
function endOnSignals(app: App, log: Logger): void {
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1)
    stopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), STOP_MAX_MS).unref()
    app.stop().then(
      () => process.exit(0),
      (error) => {
        log.error({ error: errorText(error) }, 'stopping failed')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

interface AppModule {
  readonly agents: ReadonlyMap<string, Agent>
  readonly work: ReadonlyMap<string, Executor>
  readonly sources: readonly Source[]
  readonly conditions: ReadonlyMap<string, Condition>
  readonly channels: readonly PushChannel[]
}

/** The default export of the app's module, or the demo. */
export async function loadApp(config: AppConfig): Promise<AppModule> {
  if (config.app === null)
    return {
      agents: new Map([['companion', demoCompanion(config)]]),
      work: new Map<string, Executor>(),
      sources: [],
      conditions: new Map<string, Condition>(),
      channels: [],
    }
  const path = resolve(config.app)
  if (!existsSync(path))
    throw new ConfigError(
      `WAKEFUL_APP: got "${config.app}", takes the path of a module that exists`,
    )
  await readTypes(config.app, path)
  const module = (await import(pathToFileURL(path).href)) as {
    default?: {
      agents?: Record<string, Agent>
      work?: Record<string, Executor>
      sources?: readonly Source[]
      conditions?: Record<string, Condition>
      channels?: readonly PushChannel[]
    }
  }
  const { agents, work = {}, sources = [], conditions = {}, channels = [] } = module.default ?? {}
  if (typeof agents !== 'object' || agents === null || Object.keys(agents).length === 0) {
    throw new ConfigError(
      `WAKEFUL_APP: got "${config.app}", takes a module whose default export is { agents: { name: agent(…) } }`,
    )
  }
  for (const [name, each] of Object.entries(agents)) {
    if (typeof each?.run !== 'function')
      throw new ConfigError(
        `WAKEFUL_APP: agent "${name}" is not an agent: make it with agent(async (turn) => …)`,
      )
  }
  if (typeof work !== 'object' || work === null)
    throw new ConfigError(
      'WAKEFUL_APP: its work takes { agent_type: async (run) => ({ title, content }) }',
    )
  if (!Array.isArray(sources))
    throw new ConfigError(`WAKEFUL_APP: got "${config.app}", takes a list as its sources`)
  if (typeof conditions !== 'object' || conditions === null)
    throw new ConfigError('WAKEFUL_APP: its conditions take { name: async ({ params }) => true }')
  if (!Array.isArray(channels) || channels.some((each) => typeof each?.send !== 'function'))
    throw new ConfigError('WAKEFUL_APP: its channels take a list of { name, send(push) { … } }')
  const [known, runs] = [new Map(Object.entries(agents)), new Map(Object.entries(work))]
  const own = new Map(Object.entries(conditions))
  return { agents: known, work: runs, sources, conditions: own, channels }
}

/** Newer Nodes read TypeScript; for others the app's own tsx does, where it is installed. */
async function readTypes(app: string, path: string): Promise<void> {
  const { typescript } = process.features as { typescript?: unknown }
  if (!/\.[cm]?ts$/.test(path) || typescript) return
  const file = tsxOf(path)
  if (file === null)
    throw new ConfigError(
      `WAKEFUL_APP: got "${app}", which Node ${process.version} reads only with tsx: npm install --save-dev tsx`,
    )
  await import(pathToFileURL(file).href)
}

function tsxOf(path: string): string | null {
  try {
    return createRequire(path).resolve('tsx')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
}
