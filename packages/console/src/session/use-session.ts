/** All rows of one session, kept fresh: by the live line, and by looking when something is due. */
import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import { coalesce } from '../api/coalesce.ts'
import { serverNow } from '../api/http.ts'
import type { Effect } from '../api/shapes.ts'
import { type Line, openLine } from '../api/socket.ts'
import { type SessionRows, withOlder } from './joining.ts'
import { lookAgain } from './kept.ts'
import { readOlder } from './rows.ts'
import { pathOf, rowsKey, sessionQuery } from './session-query.ts'

/** What is still to be delivered is among the newest. */
const EFFECTS_WATCHED = 50
/** Frames come in bursts and sometimes in streams; one look serves many. */
const FRAMES = { gatherMs: 40, gapMs: 300 } as const
const LOOK_UNSETTLED_MS = 700
const LOOK_LIVE_MS = 20_000
const LOOK_AWAY_MS = 4_000
const LOOK_MIN_MS = 250
/** The clock needs a moment after an instant to act on it. */
const GRACE_MS = 150

export function useSession(key: string, watching: boolean, actAs: string | undefined) {
  const client = useQueryClient()
  const line = useLine(client, key, watching, actAs)
  const query = useQuery({
    ...sessionQuery(client, key),
    refetchInterval: ({ state }) =>
      state.data?.head === null ? false : nextLook(state.data, line.state === 'live', watching),
  })
  const older = useOlder(client, key)
  return { line, query, older }
}

export interface Older {
  readonly loading: boolean
  readonly load: () => void
}

function useOlder(client: QueryClient, key: string): Older {
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const first = client.getQueryData<SessionRows>(rowsKey(key))?.events[0]?.seq
      if (first === undefined) return
      const older = await readOlder(pathOf(key), first, new AbortController().signal)
      client.setQueryData<SessionRows>(rowsKey(key), (known) =>
        known === undefined ? known : { ...withOlder(known, older), head: known.head },
      )
    },
  })
  const load = useCallback(() => mutate(), [mutate])
  return { loading: isPending, load }
}

function useLine(
  client: QueryClient,
  key: string,
  watching: boolean,
  actAs: string | undefined,
): Line {
  const [line, setLine] = useState<Line>({ state: 'connecting' })
  useEffect(() => {
    const look = coalesce(() => lookAgain(client, key), FRAMES)
    const end = openLine(key, {
      watches: watching,
      actAs,
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
  }, [client, key, watching, actAs])
  return line
}

/** In how many milliseconds something may have changed that no frame tells of. */
export function nextLook(rows: SessionRows | undefined, live: boolean, watching: boolean): number {
  const idle = live ? LOOK_LIVE_MS : LOOK_AWAY_MS
  const head = rows?.head
  if (head === null || head === undefined) return idle
  const underWay = head.done_seq < head.last_seq
  const undelivered =
    !watching && live && (rows?.effects ?? []).slice(-EFFECTS_WATCHED).some(isOpen)
  if (underWay || undelivered) return LOOK_UNSETTLED_MS
  const instants = [...head.timers.map((timer) => timer.fire_at), head.gate.until ?? '']
  const soonest = Math.min(...instants.map((at) => Date.parse(at) || Number.POSITIVE_INFINITY))
  return Math.min(idle, Math.max(LOOK_MIN_MS, soonest - serverNow() + GRACE_MS))
}

function isOpen(effect: Effect): boolean {
  return effect.status === 'pending' || effect.status === 'executing'
}
