/** Why did it write, or not? Everything that came due, with its outcome and its reason. */
import { useState } from 'react'
import { serverNow } from '../api/http.ts'
import { LEDGER_KINDS, type LedgerEntry, ledgerPath, OUTCOMES } from '../api/ledger.ts'
import { usePages } from '../api/query.ts'
import { type Filters, useFilters } from '../frame/address.ts'
import { seesAll, useMe } from '../frame/me.ts'
import { ChoiceFilter, FilterBar, WordsFilter } from '../kit/filters.tsx'
import { AgentLink, PersonLink, RowLink } from '../kit/links.tsx'
import { PeopleList } from '../kit/people-list.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { KIND_NAMES, Kind, OutcomeState, outcomeLabel } from '../parts/outcome.tsx'
import { Button, Empty, Heading } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'

const ROWS = 100
const HOUR = 3_600_000
const SPANS = [
  ['', 'Last 24 hours', 24 * HOUR],
  ['hour', 'Last hour', HOUR],
  ['week', 'Last 7 days', 7 * 24 * HOUR],
  ['all', 'All time', null],
] as const

export function ActivityPage() {
  const filters = useFilters()
  const { get } = filters
  const path = usePath(filters)
  const list = usePages<LedgerEntry>(path, ['ledger'])
  const { rows, error } = list
  const isFiltered = ['user_id', 'trigger', 'outcome', 'session_key'].some((each) => get(each))
  return (
    <>
      <Heading title="Activity" />
      <Bar filters={filters} />
      {error !== null && <Trouble spaced error={error} onRetry={() => void list.refetch()} />}
      {rows?.length === 0 && !list.hasNextPage ? (
        <Nothing filtered={isFiltered} />
      ) : (
        (rows !== undefined || error === null) && (
          <Table
            label="Activity"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ id }) => id}
            more={list.hasNextPage}
            loading={list.isFetchingNextPage}
            onMore={() => void list.fetchNextPage()}
          />
        )
      )}
    </>
  )
}

function usePath({ get }: Filters): string {
  const span = SPANS.find(([value]) => value === get('span')) ?? SPANS[0]
  const [, , ms] = span
  const [from, to] = [get('from'), get('to')]
  // Fixed for a visit: the address is also the key of what was read.
  const [visited] = useState(serverNow)
  const since = ms === null ? '' : new Date(visited - ms).toISOString()
  return ledgerPath({
    user_id: get('user_id'),
    session_key: get('session_key'),
    trigger: get('trigger'),
    trigger_id: get('trigger_id'),
    outcome: get('outcome'),
    from: from === '' ? since : instantOf(from),
    to: instantOf(to),
    limit: ROWS,
  })
}

function instantOf(local: string): string {
  const at = Date.parse(local)
  return Number.isNaN(at) ? '' : new Date(at).toISOString()
}

function Bar({ filters }: { filters: Filters }) {
  const all = seesAll(useMe())
  const isNarrowed = ['from', 'to', 'session_key', 'trigger_id'].some((each) => filters.get(each))
  return (
    <FilterBar>
      {all && (
        <>
          <WordsFilter
            main
            filters={filters}
            name="user_id"
            label="Person"
            list="people"
            className="flex-1 basis-40"
          />
          <PeopleList id="people" />
        </>
      )}
      <ChoiceFilter
        filters={filters}
        name="span"
        label="Time"
        choices={SPANS.map(([value, words]) => [value, words] as const)}
      />
      <ChoiceFilter
        filters={filters}
        name="trigger"
        label="Kind"
        choices={[
          ['', 'Any kind'],
          ...LEDGER_KINDS.map((kind) => [kind, KIND_NAMES[kind]] as const),
        ]}
      />
      <ChoiceFilter
        filters={filters}
        name="outcome"
        label="Outcome"
        choices={[
          ['', 'Any outcome'],
          ...OUTCOMES.map((each) => [each, outcomeLabel(each)] as const),
        ]}
      />
      <TimeFilter filters={filters} name="from" label="From" />
      <TimeFilter filters={filters} name="to" label="To" />
      {isNarrowed && (
        <Button onClick={() => filters.set({ from: '', to: '', session_key: '', trigger_id: '' })}>
          Clear
        </Button>
      )}
    </FilterBar>
  )
}

function TimeFilter({ filters, name, label }: { filters: Filters; name: string; label: string }) {
  return (
    <label
      className={`flex items-center gap-1.5 text-[13px] text-muted max-sm:flex-1 ${filters.get(name) === '' ? 'max-sm:hidden' : ''}`}
    >
      {label}
      <input
        type="datetime-local"
        value={filters.get(name)}
        onChange={(event) => filters.set({ [name]: event.target.value })}
        className="h-8 min-w-0 rounded-md border border-line bg-panel px-2 text-ink max-sm:w-full"
      />
    </label>
  )
}

const COLUMNS: readonly Column<LedgerEntry>[] = [
  {
    name: 'Time',
    className: 'w-[8.5rem] max-md:order-last',
    cell: ({ at }) => <When at={at} />,
  },
  { name: 'Kind', className: 'w-11', cell: ({ trigger }) => <Kind kind={trigger.kind} /> },
  {
    name: 'Name',
    className: 'w-[22%] max-md:flex-1 max-md:basis-52',
    cell: ({ id, trigger }) => (
      <RowLink href={`/activity/${encodeURIComponent(id)}`}>{trigger.name}</RowLink>
    ),
  },
  { name: 'Person', className: 'w-[11%]', cell: ({ user_id }) => <PersonLink id={user_id} /> },
  {
    name: 'Agent',
    className: 'w-[11%]',
    cell: ({ session_key }) => <AgentLink id={session_key?.split(':')[1]} />,
  },
  {
    name: 'Outcome',
    className: 'w-[10rem]',
    cell: ({ outcome }) => <OutcomeState outcome={outcome} />,
  },
  {
    name: 'Reason',
    className: 'max-md:basis-full max-md:whitespace-normal',
    cell: (entry) => (
      <span className="text-muted" title={entry.words}>
        {entry.words}
      </span>
    ),
  },
]

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered)
    return (
      <Empty title="Nothing of this kind">
        Nothing that came due in this time matches the filters. Choose a longer time, or any
        outcome.
      </Empty>
    )
  return (
    <Empty title="Nothing has come due yet">
      When a timer, alarm, intent or work comes due, it is listed here whether or not a message was
      sent, with the reason. The same is at <code>GET /v1/ledger</code>.
    </Empty>
  )
}
