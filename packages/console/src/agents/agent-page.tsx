/** One agent: how it does, whether it runs, its conversations, and a way to talk to it. */

import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { address } from '../api/address.ts'
import { usePages, useRead } from '../api/query.ts'
import type { ListedSession } from '../api/shapes.ts'
import { LOCAL_PERSON } from '../forms/choices.ts'
import { useFilters } from '../frame/address.ts'
import { FilterBar, WordsFilter } from '../kit/filters.tsx'
import { PersonLink, RowLink } from '../kit/links.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { Icon } from '../parts/icon.tsx'
import { Button, Empty, Heading } from '../parts/parts.tsx'
import { randomId } from '../parts/random.ts'
import { Skeleton } from '../parts/skeleton.tsx'
import { lasting } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { beginEmpty } from '../session/kept.ts'
import { sessionAddress } from '../session/key.ts'
import { LastActivity } from '../session/last-activity.tsx'
import { SessionState } from '../session/session-state.tsx'
import { type Agent, agentPath, type Figures, percent } from './agent.ts'
import { StopButton } from './stop-button.tsx'

const ROWS = 100

export function AgentPage({ id }: { id: string }) {
  const { data, error, refetch } = useRead<Agent>(agentPath(id), ['agents', 'stops', 'sessions'])
  return (
    <>
      <p className="mb-2 text-[13px]">
        <Link href="/agents" className="text-accent underline underline-offset-4">
          ← Agents
        </Link>
      </p>
      <Heading
        title={id}
        aside={
          <>
            <Chat agent={id} />
            <StopButton agent={id} />
          </>
        }
      >
        {data !== undefined && (data.url ?? data.kind)}
      </Heading>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton />}
      {data?.figures !== undefined && <Tiles figures={data.figures} />}
      <p className="mb-4 flex flex-wrap gap-x-4 text-[13px]">
        <Link
          href={address('/schedule', { agent_id: id })}
          className="text-accent underline underline-offset-2"
        >
          Schedules of this agent
        </Link>
      </p>
      <h2 className="mb-2 font-semibold">Sessions</h2>
      <Sessions agent={id} />
    </>
  )
}

/** A conversation of one's own, in which one acts as its person. */
function Chat({ agent }: { agent: string }) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const open = () => {
    const key = `${LOCAL_PERSON}:${agent}:${randomId(6)}`
    beginEmpty(client, key)
    go(`${sessionAddress(key)}?act=1`)
  }
  return (
    <Button onClick={open}>
      <Icon name="chat" /> Chat as {LOCAL_PERSON}
    </Button>
  )
}

function Tiles({ figures }: { figures: Figures }) {
  const ms = (value: number | null) => (value === null ? '–' : lasting(value))
  const limits = [
    figures.concurrency === null ? '' : `${figures.concurrency} at once`,
    figures.per_minute === null ? '' : `${figures.per_minute} a minute`,
  ].filter(Boolean)
  return (
    <dl className="mb-4 grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-3 lg:grid-cols-6">
      <Tile name="Running now" note={limits.join(', ') || 'no limit'}>
        {figures.running}
      </Tile>
      <Tile
        name="Turns, 24 h"
        note={
          figures.sessions === 1 ? '1 session' : `${figures.sessions.toLocaleString()} sessions`
        }
      >
        {figures.turns_24h.toLocaleString()}
      </Tile>
      <Tile
        name="Error rate"
        note={`${figures.failed_24h.toLocaleString()} failed`}
        bad={figures.failed_24h > 0}
      >
        {percent(figures.error_rate)}
      </Tile>
      <Tile name="Median turn" note="half are faster">
        {ms(figures.p50_ms)}
      </Tile>
      <Tile name="Slow turn" note="95 of 100 are faster">
        {ms(figures.p95_ms)}
      </Tile>
      <Tile
        name="Model calls, 24 h"
        note={
          figures.cost_24h === null ? 'cost not reported' : `cost ${figures.cost_24h.toFixed(2)}`
        }
      >
        {figures.model_calls_24h.toLocaleString()}
      </Tile>
    </dl>
  )
}

interface TileProps {
  readonly name: string
  readonly note: string
  readonly bad?: boolean
  readonly children: ReactNode
}

export function Tile({ name, note, bad = false, children }: TileProps) {
  return (
    <div className="flex flex-col bg-panel px-4 py-3">
      <dt className="text-xs text-muted">{name}</dt>
      <dd className={`text-lg font-semibold tabular-nums ${bad ? 'text-bad' : ''}`}>{children}</dd>
      <dd className="text-xs text-muted">{note}</dd>
    </div>
  )
}

function Sessions({ agent }: { agent: string }) {
  const filters = useFilters()
  const path = address('v1/sessions', {
    agent_id: agent,
    q: filters.get('q'),
    order: 'activity',
    limit: ROWS,
  })
  const list = usePages<ListedSession>(path, ['sessions'])
  return (
    <>
      <FilterBar>
        <WordsFilter
          main
          filters={filters}
          name="q"
          label="Search sessions"
          className="flex-1 basis-52 sm:max-w-sm"
        />
      </FilterBar>
      {list.error !== null && <Trouble spaced error={list.error} />}
      {list.rows?.length === 0 ? (
        <Empty title="No session">Nobody has talked to it, or no session matches.</Empty>
      ) : (
        <Table
          label="Sessions"
          columns={COLUMNS}
          rows={list.rows}
          keyOf={({ session_key }) => session_key}
          more={list.hasNextPage}
          loading={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
        />
      )}
    </>
  )
}

const COLUMNS: readonly Column<ListedSession>[] = [
  {
    name: 'Person',
    className: 'w-[20%]',
    cell: ({ session_key }) => <PersonLink id={session_key.split(':')[0] ?? ''} />,
  },
  {
    name: 'Conversation',
    className: 'max-md:flex-1 max-md:basis-32',
    cell: ({ session_key }) => (
      <RowLink href={sessionAddress(session_key)}>{session_key.split(':')[2] ?? ''}</RowLink>
    ),
  },
  { name: 'State', className: 'w-[11rem]', cell: (row) => <SessionState session={row} /> },
  {
    name: 'Events',
    className: 'w-[6rem] text-right tabular-nums',
    wide: true,
    cell: ({ last_seq }) => last_seq.toLocaleString(),
  },
  {
    name: 'Last activity',
    className: 'w-[12rem] md:text-right',
    cell: (row) => <LastActivity session={row} />,
  },
]
