/** The directory of people: found by name, with when each was seen and what comes next for them. */
import { useEffect } from 'react'
import { address } from '../api/address.ts'
import { usePages } from '../api/query.ts'
import { navigate, useFilters } from '../frame/address.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { ChoiceFilter, FilterBar, WordsFilter } from '../kit/filters.tsx'
import { RowLink } from '../kit/links.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { State } from '../parts/outcome.tsx'
import { Empty, Heading } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'

const ROWS = 100

interface ListedPerson {
  readonly user_id: string
  readonly timezone: string | null
  readonly last_seen_at: string | null
  readonly next_at: string | null
  readonly sessions: number
  readonly paused_until: string | null
}

const ORDERS = [
  ['', 'Last seen'],
  ['next', 'Next due'],
  ['name', 'By name'],
] as const

export function PeoplePage() {
  const me = useMe()
  const all = seesAll(me)
  const own = me?.user_id
  // A caller bound to one person has no directory.
  useEffect(() => {
    if (own) navigate(`/people/${encodeURIComponent(own)}`, { replace: true })
  }, [own])
  const filters = useFilters()
  const path = address('v1/people', {
    q: filters.get('q'),
    order: filters.get('order') || 'last_seen',
    limit: ROWS,
  })
  const list = usePages<ListedPerson>(path, ['people', 'sessions', 'schedules'], all)
  const { rows, error } = list
  return (
    <>
      <Heading title="People" />
      <FilterBar>
        <WordsFilter
          main
          filters={filters}
          name="q"
          label="Search people"
          className="flex-1 basis-52 sm:max-w-sm"
        />
        <ChoiceFilter filters={filters} name="order" label="Order" choices={ORDERS} />
      </FilterBar>
      {error !== null && <Trouble spaced error={error} onRetry={() => void list.refetch()} />}
      {rows?.length === 0 ? (
        <Empty title={filters.get('q') === '' ? 'No people yet' : 'No matching people'}>
          A person appears here with their first message or schedule.
        </Empty>
      ) : (
        (rows !== undefined || error === null) && (
          <Table
            label="People"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ user_id }) => user_id}
            more={list.hasNextPage}
            loading={list.isFetchingNextPage}
            onMore={() => void list.fetchNextPage()}
          />
        )
      )}
    </>
  )
}

const None = () => <span className="text-muted max-md:hidden">–</span>

/** On a narrow screen the column has no header. */
function Named({ word, at, zone }: { word: string; at: string; zone: string | null }) {
  return (
    <>
      <span className="text-muted md:hidden">{word} </span>
      <When at={at} zone={zone ?? undefined} as="both" />
    </>
  )
}

const COLUMNS: readonly Column<ListedPerson>[] = [
  {
    name: 'Person',
    className: 'max-md:flex-1 max-md:basis-40',
    cell: ({ user_id }) => (
      <RowLink href={`/people/${encodeURIComponent(user_id)}`}>{user_id}</RowLink>
    ),
  },
  {
    name: 'Seen',
    className: 'w-[11rem]',
    cell: ({ last_seen_at: at, timezone }) =>
      at === null ? <None /> : <Named word="seen" at={at} zone={timezone} />,
  },
  {
    name: 'Next',
    className: 'w-[11rem]',
    cell: ({ next_at: at, timezone }) =>
      at === null ? <None /> : <Named word="next" at={at} zone={timezone} />,
  },
  {
    name: 'Sessions',
    className: 'w-[6rem] text-right',
    wide: true,
    cell: ({ sessions }) => sessions.toLocaleString(),
  },
  {
    name: 'Time zone',
    className: 'w-[15%]',
    wide: true,
    cell: ({ timezone }) => timezone ?? <span className="text-muted">not known</span>,
  },
  {
    name: 'State',
    className: 'w-[10rem]',
    cell: ({ paused_until }) =>
      paused_until === null ? (
        <None />
      ) : (
        <State icon="pause" tone="own">
          paused
        </State>
      ),
  },
]
