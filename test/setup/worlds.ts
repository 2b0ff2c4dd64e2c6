/** Small worlds for behaviour tests: an app on a test clock, with the agent a test brings. */
import type { Agent } from '../../src/agents/agent.ts'
import type { Executor } from '../../src/agents/executor.ts'
import { type AgentFunction, agent } from '../../src/agents/function.ts'
import { newId } from '../../src/core/ids.ts'
import { parseSessionKey, type SessionRef } from '../../src/core/session.ts'
import type { Source } from '../../src/features/intents/source.ts'
import type { Appended } from '../../src/features/sessions/event-rows.ts'
import { type TestWakeful, testWakeful } from '../../src/testing.ts'
import { afterEachTest } from './ends.ts'
import { databaseEnv, queryAll, type StoreUnderTest } from './stores.ts'

/** Calls an operation whose name or fields only the test knows. */
type AnyCall = (
  operation: string,
  args?: object,
  options?: { readonly actAs?: string },
) => Promise<unknown>
export const anyCall = ({ call }: Pick<TestWakeful, 'call'>) => call as AnyCall

const open = new Set<TestWakeful>()
afterEachTest(async () => {
  await Promise.all([...open].map((each) => each.stop()))
  open.clear()
})

export interface World extends Omit<TestWakeful, 'call' | 'say'> {
  readonly call: AnyCall
  say(key: string, text: string, id?: string): Promise<Appended>
  query<R extends object>(text: string, values?: readonly unknown[]): Promise<R[]>
}

export function ref(key: string): SessionRef {
  const session = parseSessionKey(key)
  if (session === null) throw new Error(`not a session key: ${key}`)
  return session
}

export async function world(
  store: StoreUnderTest,
  agents: Record<string, Agent | AgentFunction>,
  options: {
    env?: Record<string, string>
    startAt?: string
    database?: string
    sources?: readonly Source[]
    work?: Readonly<Record<string, Executor>>
  } = {},
): Promise<World> {
  const database = options.database ?? (await store.database())
  const made = Object.entries(agents).map(
    ([name, each]) => [name, typeof each === 'function' ? agent(each) : each] as const,
  )
  const test = await testWakeful({
    agents: Object.fromEntries(made),
    sources: options.sources ?? [],
    work: options.work ?? {},
    env: { PORT: '0', LOG_LEVEL: 'silent', ...databaseEnv(database), ...options.env },
    ...(options.startAt === undefined ? {} : { startAt: options.startAt }),
  })
  open.add(test)
  return {
    ...test,
    call: anyCall(test),
    say: (key, text, id) =>
      test.app.append({
        session: ref(key),
        id: newId(),
        type: 'user_message',
        payload: JSON.stringify({ text }),
        clientId: id ?? null,
      }),
    query: (text, values) => queryAll(test.app, text, values),
    stop: async () => {
      open.delete(test)
      await test.stop()
    },
  }
}
