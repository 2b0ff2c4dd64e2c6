/** `app.schedule`: the operation that HTTP has, called in the words of the library, also within a transaction of the caller's own. */
import type { Scheduled } from '../agents/schedules.ts'
import { prepareFlat } from '../api/callers/flat.ts'
import { localActor } from '../api/callers/local.ts'
import type { Context } from '../api/contract.ts'
import { perform } from '../api/perform.ts'
import { Refusal } from '../core/errors.ts'
import { newId } from '../core/ids.ts'
import { bucketOf } from '../core/session.ts'
import { camelCased, readName, readSpec, type ScheduleSpec } from '../features/schedules/spec.ts'
import type { Topic } from '../kernel/hints.ts'
import type { Db } from '../store/db.ts'
import type { SqlClient } from '../store/pool.ts'
import { announce } from '../store/settings.ts'
import type { App } from './app.ts'
import { operationNamed } from './operations.ts'

/** What `turn.schedule` takes, and whose it is. */
export type AppScheduleSpec = ScheduleSpec & {
  readonly userId: string
  /** Who is woken; the only agent by default. */
  readonly agentId?: string
  /** The conversation; the person's thread `main` by default. */
  readonly threadId?: string
}

export interface AppScheduleOptions {
  /** A `pg` client on which a transaction is open: the schedule is written in it, and commits or is rolled back with it. */
  readonly client?: SqlClient
}

const PUT = operationNamed('put_schedule')

/** Throws a `Refusal` with all that is wrong. */
export async function scheduleFor(
  app: App,
  name: string,
  spec: AppScheduleSpec,
  { client }: AppScheduleOptions = {},
): Promise<Scheduled> {
  try {
    const { args, userId } = argumentsOf(name, spec)
    const body =
      client === undefined
        ? JSON.parse((await app.door(localActor()).call(PUT, args)) ?? '{}')
        : await writeWith(client, app, userId, args)
    const { kind, description, next, notes = [] } = body as Answered
    return { id: name, kind, description, next: next.map((at) => new Date(at)), notes }
  } catch (error) {
    throw camelCased(error)
  }
}

type Answered = Omit<Scheduled, 'id' | 'next' | 'notes'> & {
  readonly next: readonly (string | Date)[]
  readonly notes?: readonly string[]
}

function argumentsOf(name: string, spec: AppScheduleSpec) {
  const { userId, agentId, threadId, ...when } = spec ?? {}
  if (typeof userId !== 'string') throw new Refusal('shape', 'userId: is required')
  const wire = readSpec(when)
  const args = {
    ...wire,
    name: readName(name),
    user_id: userId,
    agent_id: agentId,
    thread_id: threadId,
  }
  return { args, userId }
}

async function writeWith(
  client: SqlClient,
  app: App,
  userId: string,
  args: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const actor = localActor()
  const { input } = prepareFlat(PUT, actor, args)
  const number = app.stores.map.ofBucket(bucketOf(userId))
  const [store, kernel] = [app.stores.all[number], app.kernels.all[number]]
  const context = app.context(actor, { requestId: newId(), signal: new AbortController().signal })
  if (store === undefined || kernel === undefined || !app.servedShards.has(number))
    throw new Refusal('unavailable', `shard ${number} is not ready yet; try again soon`)
  if (store.join === null)
    throw new Refusal(
      'rule',
      'client: the embedded database has no clients of others; set DATABASE_URL to a PostgreSQL, or leave client out',
    )
  return store.join.run(client, async (tx) => {
    const topics = new Set<Topic>()
    const changed = (topic: Topic) => topics.add(topic)
    const ctx: Context = {
      ...context,
      ...{ db: tx, whole: tx, inTransaction: true, shards: undefined },
      // The commit is the caller's, so the hints travel with it.
      kernel: Object.create(kernel, { changed: { value: changed } }),
    }
    const { body } = await perform(PUT, ctx, input)
    await tell(tx, topics)
    return body
  })
}

/** PostgreSQL delivers it with the commit, to this process too. */
async function tell(tx: Db, topics: ReadonlySet<Topic>): Promise<void> {
  await announce(tx, { from: 'a transaction', topics: [...topics].map((topic) => [topic, null]) })
}
