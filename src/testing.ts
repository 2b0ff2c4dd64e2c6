/** A test clock and the door to drive Wakeful with it: nothing sleeps, everything due on the way happens in order. */

import type { App } from './app/app.ts'
import { HandClock } from './clock.ts'
import { bucketOf, MAIN_THREAD } from './core/session.ts'
import { callsOf, openApp, type Wakeful, type WakefulOptions } from './index.ts'

export interface TestWakeful extends Pick<Wakeful, 'call' | 'door' | 'db' | 'schedule'> {
  readonly app: App
  now(): Date
  /** Runs everything that becomes due up to and including `instant`, in order. */
  advanceTo(instant: Date | string | number): Promise<void>
  advanceBy(ms: number): Promise<void>
  /** Runs what is due at the present instant. */
  settle(): Promise<void>
  listen(): Promise<string>
  /** The person says something to the only agent, or to the one named, and its turn is run. */
  say(person: string, text: string, to?: Conversation): Promise<void>
  /** What agents have said to the person so far, oldest first; of one conversation where it is named. */
  said(person: string, to?: Conversation): Promise<string[]>
  stop(): Promise<void>
}

/** Of a person. The thread is `main` by default. */
export interface Conversation {
  readonly agent?: string
  readonly thread?: string
}

const SAID = `select f.payload ->> 'content' as content from wakeful.effects f
  where f.bucket = $1 and f.session_key > $2 || ':' and f.session_key < $2 || ';' and f.type = 'send_message'
    and ($3::text is null or split_part(f.session_key, ':', 2) = $3) and ($4::text is null or split_part(f.session_key, ':', 3) = $4)
  order by f.created_at, f.session_key, f.position`

/** `say` and `said`: a test acting as a person. */
function conversations(app: App, settle: () => Promise<void>): Pick<TestWakeful, 'say' | 'said'> {
  const { call } = callsOf(app)
  return {
    async say(person, text, { agent, thread = MAIN_THREAD } = {}) {
      const [only, other] = app.agents.names
      const named = agent ?? (other === undefined ? only : undefined)
      if (named === undefined)
        throw new TypeError(`say: name the agent: one of ${app.agents.names.join(', ')}`)
      await call('post_message', { session_key: `${person}:${named}:${thread}`, text })
      await settle()
    },
    async said(person, { agent = null, thread = null } = {}) {
      const { db } = app.stores.ofUser(person)
      const values = [bucketOf(person), person, agent, thread]
      const rows = await db.query<{ content: string }>(SAID, values)
      return rows.map(({ content }) => content)
    },
  }
}

export async function testWakeful(
  options: WakefulOptions & { startAt?: Date | string },
): Promise<TestWakeful> {
  const clock = new HandClock(new Date(options.startAt ?? '2026-01-01T00:00:00Z'))
  // Not the environment of the process: a test must not write into a database that it does not name.
  const env = { DATABASE_URL: 'memory:', ...options.env }
  const app = await openApp({ ...options, env }, { now: clock.now })
  await app.start()
  const advanceTo = async (instant: Date | string | number) => {
    const target = new Date(instant).getTime()
    if (Number.isNaN(target)) throw new TypeError('advanceTo: takes an instant')
    await clock.advanceTo(target, () => app.engine.quiesce())
  }
  const settle = async () => {
    await app.engine.quiesce()
  }
  return {
    app,
    ...callsOf(app),
    ...conversations(app, settle),
    now: clock.now,
    advanceTo,
    advanceBy: (ms) => advanceTo(clock.now().getTime() + ms),
    settle,
    listen: () => app.listen(),
    stop: () => app.stop(),
  }
}
