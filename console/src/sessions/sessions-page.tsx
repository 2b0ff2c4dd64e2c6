/** All sessions, newest first, one page at a time. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { request } from '../api/http.ts'
import type { ListedSession, Page } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Empty, Heading } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { sessionAddress } from '../session/key.ts'
import { KeyParts } from '../session/key-parts.tsx'
import { gateWords } from '../session/words.ts'
import { NewSession } from './new-session.tsx'

const PAGE_ROWS = 20
const LOOK_MS = 4_000

export function SessionsPage() {
  /** Where each page before this one began; empty on the first. */
  const [trail, setTrail] = useState<readonly string[]>([])
  const cursor = trail.at(-1)
  const { data, error, refetch } = useQuery({
    queryKey: ['sessions', cursor ?? null],
    queryFn: ({ signal }) =>
      request<Page<ListedSession>>(
        `v1/sessions?limit=${PAGE_ROWS}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
        { signal },
      ),
    refetchInterval: LOOK_MS,
    placeholderData: keepPreviousData,
  })
  const next = data?.next_cursor ?? null
  return (
    <>
      <Heading title="Sessions">
        A session is one conversation between a user and an agent, in which the agent may also speak
        on its own.
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-3">
          {error !== null && <Trouble error={error} onRetry={() => void refetch()} />}
          {data === undefined && error === null && <p className="text-muted">Loading …</p>}
          {data?.data.length === 0 && <NoSessions />}
          {data !== undefined && data.data.length > 0 && <Rows rows={data.data} />}
          {(next !== null || trail.length > 0) && (
            <nav aria-label="Pages" className="flex items-center gap-2">
              <Button disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
                Newer
              </Button>
              <Button
                disabled={next === null}
                onClick={() => next !== null && setTrail([...trail, next])}
              >
                Older
              </Button>
              <span className="text-sm text-muted">Page {trail.length + 1}</span>
            </nav>
          )}
        </div>
        <div className="max-lg:order-first">
          <NewSession />
        </div>
      </div>
    </>
  )
}

function NoSessions() {
  return (
    <Empty title="No sessions yet">
      Start one here and say hello: the demo agent answers and, if you stay silent, checks in by
      itself after 20 seconds. Your own app starts one with{' '}
      <code className="font-mono text-[0.9em] wrap-anywhere">
        POST /v1/sessions/user:agent:thread/messages
      </code>
      .
    </Empty>
  )
}

function Rows({ rows }: { rows: readonly ListedSession[] }) {
  const now = useNow()
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel">
      {rows.map((row) => (
        <li key={row.session_key}>
          <Link
            href={sessionAddress(row.session_key)}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 -outline-offset-2 hover:bg-sunk"
          >
            <span className="min-w-0 flex-1 basis-60 font-medium">
              <KeyParts sessionKey={row.session_key} />
            </span>
            <span className="flex items-center gap-3 text-sm text-muted">
              <RowState row={row} now={now} />
              <span>{row.last_seq === 1 ? '1 event' : `${row.last_seq} events`}</span>
              <time dateTime={row.updated_at} className="sm:w-28 sm:text-right">
                {fromNow(row.updated_at, now)}
              </time>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function RowState({ row, now }: { row: ListedSession; now: number }) {
  if (row.done_seq < row.last_seq) return <Badge>{row.last_seq - row.done_seq} waiting</Badge>
  const { state } = gateWords(row.gate, row.consecutive_autonomous_msgs, now)
  if (state !== 'open') return <Badge tone="own">gate {state}</Badge>
  if (row.consecutive_autonomous_msgs > 0)
    return <Badge tone="own">{row.consecutive_autonomous_msgs} unanswered</Badge>
  return null
}
