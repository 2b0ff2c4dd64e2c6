/** The library door: Wakeful inside your own process. */

import type { AnswerOf, InputArgs, OperationName } from '../packages/client/src/call.ts'
import { companion } from '../packages/companion/src/companion.ts'
import type { Agent } from './agents/agent.ts'
import type { Executor } from './agents/executor.ts'
import type { Scheduled } from './agents/schedules.ts'
import type { Door } from './api/callers/caller.ts'
import { localActor } from './api/callers/local.ts'
import { App } from './app/app.ts'
import type { MessageListener } from './app/messages.ts'
import { checkBasePath, type Mount } from './app/mount.ts'
import { callByName } from './app/operations.ts'
import { readConfig } from './app/packs.ts'
import { type AppScheduleOptions, type AppScheduleSpec, scheduleFor } from './app/schedule.ts'
import { environment } from './config.ts'
import type { Condition } from './features/intents/own.ts'
import type { Source } from './features/intents/source.ts'
import type { PushChannel } from './kernel/channel.ts'
import { createLog } from './observe/log.ts'

export { calendarSource } from '../packages/sources/src/calendar.ts'
export { feedSource } from '../packages/sources/src/feed.ts'
export { priceSource } from '../packages/sources/src/price.ts'
export type { Agent } from './agents/agent.ts'
export type { AgentEvent, EventOf } from './agents/events.ts'
export type { Executor, WorkFile, WorkResult, WorkRun } from './agents/executor.ts'
export { agent, type PastEvent, type PersonOfTurn, type Turn } from './agents/function.ts'
export type { QuestionRequest } from './agents/messages.ts'
export type { Explained, OwnOutput } from './agents/reads.ts'
export type { Scheduled } from './agents/schedules.ts'
export type { Message, MessageListener } from './app/messages.ts'
export type { AppScheduleOptions, AppScheduleSpec } from './app/schedule.ts'
export { Refusal, RetryableError, TerminalError } from './core/errors.ts'
export type { Condition, MetCondition } from './features/intents/own.ts'
export type { Source, Visit } from './features/intents/source.ts'
export type { AnsweredQuestion } from './features/questions/rules.ts'
export type { ScheduleSpec, WhenSpec } from './features/schedules/spec.ts'
export type { ScheduleView } from './features/schedules/view.ts'
export type {
  Button,
  ChannelAnswer,
  ChannelRequest,
  FailedReceipt,
  Heard,
  Inbox,
  Invitation,
  Push,
  PushChannel,
  PushOutcome,
} from './kernel/channel.ts'

export interface WakefulOptions {
  /** `pglite:<dir>`, `memory:` or `postgres://…`; default: `DATABASE_URL`, else `pglite:.wakeful/data`. */
  readonly database?: string
  /** The schema of this installation there, so that several share a database; default: `WAKEFUL_SCHEMA`, else `wakeful`. */
  readonly schema?: string
  readonly agents: Readonly<Record<string, Agent>>
  /** Where facts are pulled from: feedSource(…), calendarSource(…), priceSource(…), or your own. */
  readonly sources?: readonly Source[]
  /** Conditions of your own that schedules may wait for: `when: { condition: name, params }`. */
  readonly conditions?: Readonly<Record<string, Condition>>
  /** Executors of work, by agent_type. */
  readonly work?: Readonly<Record<string, Executor>>
  /** Ways to reach people, beside those of the environment. */
  readonly channels?: readonly PushChannel[]
  readonly host?: string
  readonly port?: number
  /** The path of your own server that `fetch`, `handler` and `upgrade` serve, such as `/wakeful`; by default all of it. */
  readonly basePath?: string
  /** Any variable of the server's, by name. It wins over the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface Wakeful extends Mount {
  /** Starts the services and serves HTTP and sockets; answers with the address. */
  listen(): Promise<string>
  /** Starts the services alone. */
  start(): Promise<void>
  /**
   * Any operation of the API by its name, its arguments in one object: `call('set_alarm', { schedule: … })`. Answers with
   * the JSON of HTTP; throws a `Refusal` with all reasons. `actAs` names the owner by user id or DID.
   */
  call<N extends OperationName>(
    operation: N,
    ...args: [...InputArgs<N>, options?: { readonly actAs?: string }]
  ): Promise<AnswerOf<N>>
  /**
   * Sets a schedule by its name for a person, as `turn.schedule` does; the same name again replaces it. With `client`, a `pg` client on
   * which a transaction is open, both commit or neither. Throws a `Refusal` with all reasons.
   */
  schedule(name: string, spec: AppScheduleSpec, options?: AppScheduleOptions): Promise<Scheduled>
  /** For `wakeful/tools`. */
  door(actAs?: string): Door
  /** For `graphSaver` of `wakeful/langgraph`. */
  readonly db: App['store']['db']
  /**
   * Calls the listener with each message that a turn of this process commits, after its commit. `ack()` marks it as delivered;
   * until then sockets and push channels get it as well. Answers with a function that removes the listener.
   */
  on(event: 'message', listener: MessageListener): () => void
  /** Finishes or releases what runs, then closes the store. */
  stop(): Promise<void>
}

/** Reads the environment as the server does; options win. */
export async function wakeful(options: WakefulOptions): Promise<Wakeful> {
  const { database, basePath = '', env = {} } = options
  checkBasePath(basePath)
  // A database that is named is the only one.
  const shards = database === undefined ? {} : { WAKEFUL_SHARDS: '' }
  const variables: NonNullable<WakefulOptions['env']> = {
    LOG_LEVEL: 'info',
    ...environment(),
    ...shards,
    ...env,
  }
  const app = await openApp({ ...options, env: variables })
  let mounted: Mount | null = null
  const mount = () => {
    mounted ??= app.mount({ basePath, isProduction: variables.NODE_ENV === 'production' })
    return mounted
  }
  return {
    fetch: (request) => mount().fetch(request),
    handler: (request, response, next) => mount().handler(request, response, next),
    upgrade: (request, socket, head) => mount().upgrade(request, socket, head),
    start: () => app.start(),
    stop: () => app.stop(),
    on: (_event, listener) => app.messages.on(listener),
    ...callsOf(app),
    async listen() {
      const address = await app.listen()
      await app.start()
      return address
    },
  }
}

/** The operations of an app, as functions. */
export function callsOf(app: App): Pick<Wakeful, 'call' | 'door' | 'db' | 'schedule'> {
  const call = (name: string, args?: object, options?: { readonly actAs?: string }) =>
    callByName(app.door(localActor(options?.actAs)), name, args)
  return {
    db: app.stores.several
      ? { ...app.store.db, shards: app.stores.each(({ db }) => db) }
      : app.store.db,
    door: (actAs) => app.door(localActor(actAs)),
    // The compiler knows the answer by the table of operations, which `call` looks the name up in.
    call: call as Wakeful['call'],
    schedule: (name, spec, options) => scheduleFor(app, name, spec, options),
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
    ...(options.schema === undefined ? {} : { WAKEFUL_SCHEMA: options.schema }),
    ...(options.host === undefined ? {} : { HOST: options.host }),
    ...(options.port === undefined ? {} : { PORT: String(options.port) }),
  })
  const { sources = [], conditions = {}, work = {}, channels = [] } = options
  return App.open({
    config,
    agents: new Map(Object.entries(options.agents)),
    work: new Map(Object.entries(work)),
    sources,
    conditions: new Map(Object.entries(conditions)),
    channels,
    log: createLog(config),
    ...more,
  })
}

export { companion }
