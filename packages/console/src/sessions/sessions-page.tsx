/** All sessions, newest first. */
import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { ListedSession } from '../api/shapes.ts'
import { Search } from '../lists/filters.tsx'
import { usePages } from '../lists/pages.ts'
import { WindowedList } from '../lists/windowed-list.tsx'
import { useNow } from '../parts/clock.ts'
import { Badge, Empty, Heading } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { sessionAddress } from '../session/key.ts'
import { KeyParts } from '../session/key-parts.tsx'
import { gateWords } from '../session/words.ts'
import { NewSession } from './new-session.tsx'

const ROWS = 100
const ROW_PX = 53

export function SessionsPage() {
  const [words, setWords] = useState('')
  const list = usePages<ListedSession>({ key: ['sessions'], path: 'v1/sessions', rows: ROWS })
  const { error } = list
  const wanted = words.trim().toLowerCase()
  const rows = useMemo(
    () => list.rows?.filter(({ session_key: key }) => key.toLowerCase().includes(wanted)),
    [list.rows, wanted],
  )
  return (
    <>
      <Heading title="Sessions">
        A session is one conversation between a user and an agent, in which the agent may also speak
        on its own.
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-3">
          <div className="flex">
            <Search label="Search sessions" value={words} onChange={setWords} />
          </div>
          {error !== null && <Trouble error={error} onRetry={() => void list.refetch()} />}
          {rows === undefined && error === null && <p className="text-muted">Loading …</p>}
          {rows?.length === 0 && !list.hasNextPage && (wanted === '' ? <NoSessions /> : <None />)}
          {rows !== undefined && (rows.length > 0 || list.hasNextPage) && (
            <WindowedList
              label="Sessions"
              rows={rows}
              rowPx={ROW_PX}
              keyOf={(row) => row.session_key}
              draw={(row) => <Row row={row} />}
              more={list.hasNextPage}
              loading={list.isFetchingNextPage}
              onMore={list.fetchNextPage}
            />
          )}
        </div>
        <div className="max-lg:order-first">
          <NewSession />
        </div>
      </div>
    </>
  )
}

function None() {
  return <Empty title="No session fits">Search for another part of its key.</Empty>
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

function Row({ row }: { row: ListedSession }) {
  const now = useNow()
  return (
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
