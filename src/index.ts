/** The library door: Wakeful inside your own process. */
import { pino } from 'pino'
import type { Agent } from './agents/agent.ts'
import { companion } from './agents/companion.ts'
import type { Executor } from './agents/executor.ts'
import { readConfig } from './config.ts'
import { App } from './main.ts'

export type { Agent } from './agents/agent.ts'
export type { AlarmRequest } from './agents/alarm-request.ts'
export type { Executor, WorkFile, WorkResult, WorkRun } from './agents/executor.ts'
export { agent, type FollowUp, type PastEvent, type Turn } from './agents/function.ts'
export { Refusal, RetryableError, TerminalError } from './core/errors.ts'

export interface WakefulOptions {
  /** `pglite:<dir>`, `memory:` or `postgres://…`; default as for the server. */
  readonly database?: string
  readonly agents: Readonly<Record<string, Agent>>
  /** Executors of work, by agent_type. */
  readonly work?: Readonly<Record<string, Executor>>
  readonly host?: string
  readonly port?: number
  /** Any variable of the server's, by name. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Wakeful {
  /** Starts the services and serves HTTP and sockets; answers with the address. */
  listen(): Promise<string>
  /** Starts the services alone. */
  start(): Promise<void>
  /** Finishes or releases what runs, then closes the store. */
  stop(): Promise<void>
}

export async function wakeful(options: WakefulOptions): Promise<Wakeful> {
  const app = await openApp(options)
  return {
    start: () => app.start(),
    stop: () => app.stop(),
    async listen() {
      const address = await app.listen()
      await app.start()
      return address
    },
  }
}

/** For the doors within this package that need more than the library shows. */
export async function openApp(
  options: WakefulOptions,
  more: { now?: () => Date } = {},
): Promise<App> {
  const config = readConfig({
    LOG_LEVEL: 'warn',
    ...options.env,
    ...(options.database === undefined ? {} : { DATABASE_URL: options.database }),
    ...(options.host === undefined ? {} : { HOST: options.host }),
    ...(options.port === undefined ? {} : { PORT: String(options.port) }),
  })
  const log = pino({ level: config.logLevel }, pino.destination(2))
  return App.open({
    config,
    agents: new Map(Object.entries(options.agents)),
    work: new Map(Object.entries(options.work ?? {})),
    log,
    ...more,
  })
}

export { companion }
