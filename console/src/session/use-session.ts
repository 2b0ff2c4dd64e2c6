/** All rows of one session, kept fresh: by the live line, and by looking when something is due. */
import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { coalesce } from '../api/coalesce.ts'
import { Problem, request, serverNow } from '../api/http.ts'
import type { Effect, Page, SessionEvent, SessionHead, Turn } from '../api/shapes.ts'
import { type Line, openLine } from '../api/socket.ts'
import { readTail, rowsOf, type Tail } from '../api/tail.ts'

/** As many events as one page of the server; older ones are not shown. */
const EVENTS_SHOWN = 500
/** Frames come in bursts and sometimes in streams; one look serves many. */
const FRAMES = { gatherMs: 40, gapMs: 300 } as const
const LOOK_UNSETTLED_MS = 700
const LOOK_LIVE_MS = 20_000
const LOOK_AWAY_MS = 4_000
const LOOK_MIN_MS = 250
/** The clock needs a moment after an instant to act on it. */
const GRACE_MS = 150

export interface SessionRows {
  /** Null while nobody has said anything: the session does not exist yet. */
  readonly head: SessionHead | null
  readonly events: readonly SessionEvent[]
  readonly turns: Tail<Turn>
  readonly effects: Tail<Effect>
}

const NOTHING: SessionRows = {
  head: null,
  events: [],
  turns: { pages: [], complete: true },
  effects: { pages: [], complete: true },
}

const rowsKey = (key: string) => ['session', key] as const

export function pathOf(key: string): string {
  return `v1/sessions/${encodeURIComponent(key)}`
}

/** For a session made just now: it is known to be empty, so nobody need ask. */
export function beginEmpty(client: QueryClient, key: string): void {
  client.setQueryData(rowsKey(key), NOTHING)
}

export function lookAgain(client: QueryClient, key: string): Promise<void> {
  return client.invalidateQueries({ queryKey: rowsKey(key) })
}

export function useSession(key: string, watching: boolean) {
  const client = useQueryClient()
  const line = useLine(client, key, watching)
  const query = useQuery({
    queryKey: rowsKey(key),
    queryFn: ({ signal }) => readRows(key, client.getQueryData<SessionRows>(rowsKey(key)), signal),
    refetchInterval: ({ state }) =>
      state.data?.head === null ? false : nextLook(state.data, line.state === 'live', watching),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return { line, query }
}

function useLine(client: QueryClient, key: string, watching: boolean): Line {
  const [line, setLine] = useState<Line>({ state: 'connecting' })
  useEffect(() => {
    const look = coalesce(() => lookAgain(client, key), FRAMES)
    const end = openLine(key, {
      acknowledges: !watching,
      onLine: setLine,
      onFrame: (frame) => {
        if (frame.type === 'pong' || frame.type === 'error') return
        // Nothing has happened in this session yet: asking for it would only be refused.
        if (frame.type === 'ready' && frame.last_seq === 0) return
        look()
      },
    })
    return () => {
      look.stop()
      end()
    }
  }, [client, key, watching])
  return line
}

async function readRows(
  key: string,
  before: SessionRows | undefined,
  signal: AbortSignal,
): Promise<SessionRows> {
  const path = pathOf(key)
  try {
    const head = await request<SessionHead>(path, { signal })
    const after = Math.max(0, head.last_seq - EVENTS_SHOWN)
    const [events, turns, effects] = await Promise.all([
      request<Page<SessionEvent>>(`${path}/events?after_seq=${after}&limit=${EVENTS_SHOWN}`, {
        signal,
      }),
      readTail(`${path}/turns`, before?.turns, signal),
      readTail(`${path}/effects`, before?.effects, signal),
    ])
    return { head, events: events.data, turns, effects }
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return NOTHING
    throw error
  }
}

/** In how many milliseconds something may have changed that no frame tells of. */
export function nextLook(rows: SessionRows | undefined, live: boolean, watching: boolean): number {
  const idle = live ? LOOK_LIVE_MS : LOOK_AWAY_MS
  const head = rows?.head
  if (head === null || head === undefined) return idle
  const underWay = head.done_seq < head.last_seq
  const undelivered = !watching && live && rowsOf(rows?.effects ?? NOTHING.effects).some(isOpen)
  if (underWay || undelivered) return LOOK_UNSETTLED_MS
  const instants = [...head.timers.map((timer) => timer.fire_at), head.gate.until ?? '']
  const soonest = Math.min(...instants.map((at) => Date.parse(at) || Number.POSITIVE_INFINITY))
  return Math.min(idle, Math.max(LOOK_MIN_MS, soonest - serverNow() + GRACE_MS))
}

function isOpen(effect: Effect): boolean {
  return effect.status === 'pending' || effect.status === 'executing'
}
