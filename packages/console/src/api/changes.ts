/** One stream of changes from the server. Queries on screen that name a changed topic are read again; nothing else polls. */
import type { Query, QueryClient } from '@tanstack/react-query'
import { answerOf } from './http.ts'
import { type Topic, topicsIn } from './topics.ts'

const GATHER_MS = 150
/** A busy server tells of changes twice a second; nobody reads that fast. */
const APART_MS = 1_500
const RETRY_MIN_MS = 1_000
const RETRY_MAX_MS = 5_000

/** What a query says about itself: the topics that make it old. */
export function about(...topics: readonly Topic[]) {
  return { meta: { topics } }
}

function isAbout(query: Query, changed: ReadonlySet<Topic>): boolean {
  const topics = query.meta?.topics as readonly Topic[] | undefined
  return topics?.some((topic) => changed.has(topic)) ?? false
}

/** Reads again what is about any of these topics. */
export function refresh(client: QueryClient, topics: readonly Topic[]): Promise<void> {
  const changed = new Set(topics)
  return client.invalidateQueries({ predicate: (query) => isAbout(query, changed) })
}

/** Returns what ends it. While there is no stream, what is on screen is read again with each attempt to open one. */
export function followChanges(client: QueryClient): () => void {
  const ending = new AbortController()
  const changed = new Set<Topic>()
  let gathering = false
  let toldMs = Number.NEGATIVE_INFINITY
  const flush = () => {
    gathering = false
    toldMs = performance.now()
    const topics = [...changed]
    changed.clear()
    void refresh(client, topics)
  }
  const take = (topics: readonly Topic[]) => {
    for (const topic of topics) changed.add(topic)
    if (gathering) return
    gathering = true
    setTimeout(flush, Math.max(GATHER_MS, toldMs + APART_MS - performance.now()))
  }
  const readAgain = () =>
    client.invalidateQueries({ predicate: ({ meta }) => meta?.topics !== undefined })
  void follow(ending.signal, take, readAgain)
  return () => ending.abort()
}

async function follow(
  signal: AbortSignal,
  take: (topics: readonly Topic[]) => void,
  readAgain: () => Promise<void>,
): Promise<void> {
  let wait = RETRY_MIN_MS
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      const answer = await answerOf('v1/changes', { signal })
      if (answer.ok && answer.body !== null) {
        wait = RETRY_MIN_MS
        if (attempt > 0) void readAgain()
        await readEvents(answer.body, take)
      }
    } catch {
      // The connection ended; the loop opens another one.
      if (signal.aborted) return
    }
    await pause(wait, signal)
    wait = Math.min(wait * 2, RETRY_MAX_MS)
    if (!signal.aborted) void readAgain()
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const waiting = setTimeout(done, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(waiting)
      done()
    })
  })
}

async function readEvents(
  body: ReadableStream<Uint8Array>,
  take: (topics: readonly Topic[]) => void,
): Promise<void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data:')) take(topicsIn(line.slice('data:'.length)))
    }
  }
}
