/** Everything that is set for later, of all kinds and people: as a table, as an agenda, as a calendar, and as a forecast. */
import { useMemo, useState } from 'react'
import { address } from '../api/address.ts'
import { serverNow } from '../api/http.ts'
import { KINDS } from '../api/ledger.ts'
import { type Overview, overviewPath } from '../api/overview.ts'
import { usePages, useRead } from '../api/query.ts'
import { useCapabilities } from '../forms/choices.ts'
import { type Filters, navigate, useFilters } from '../frame/address.ts'
import { mayChange, seesAll, useMe } from '../frame/me.ts'
import { ChoiceFilter, FilterBar, Tabs, WordsFilter } from '../kit/filters.tsx'
import { AgentLink, PersonLink, RowLink } from '../kit/links.tsx'
import { PeopleList } from '../kit/people-list.tsx'
import { type Column, Table } from '../kit/table.tsx'
import { KIND_NAMES, Kind, OutcomeState, State } from '../parts/outcome.tsx'
import { Empty, Heading } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useShownZone } from '../parts/use-zone.ts'
import { When } from '../parts/when.tsx'
import { Agenda } from './agenda.tsx'
import { BulkBar } from './bulk.tsx'
import { Calendar } from './calendar.tsx'
import { daysOf, type Occurrence, upcoming } from './days.ts'
import { ScheduleDrawer } from './detail.tsx'
import { useForecasts } from './forecast.ts'
import { ForecastStrip, ForecastToggle } from './forecast-strip.tsx'
import { playedOf } from './played.ts'
import { briefly, pageOf, refOf, type Schedule, stateOf } from './schedule.ts'

const ROWS = 100
const AHEAD_MS = 14 * 86_400_000
const VIEWS = [
  ['', 'Table', 'dots'],
  ['agenda', 'Agenda', 'activity'],
  ['calendar', 'Calendar', 'calendar'],
] as const
type View = (typeof VIEWS)[number][0]
const STATUSES = [
  ['', 'Any status'],
  ['active', 'Active'],
  ['paused', 'Paused'],
  ['failed', 'Failed'],
  ['done', 'Done'],
] as const

export function SchedulePage({ open }: { open: string }) {
  const filters = useFilters()
  const forecasts = useForecasts()
  const [isForecast, setForecast] = useState(false)
  const chosen = (VIEWS.find(([view]) => view === filters.get('view'))?.[0] ?? '') as View
  // A forecast is drawn on days.
  const view = isForecast && chosen === '' ? 'agenda' : chosen
  const ahead = useAhead(filters, view !== '' || isForecast)
  const people = useMemo(() => [...new Set(ahead.all.map(({ user }) => user))], [ahead.all])
  const asked = filters.get('user_id') === '' ? people : [filters.get('user_id')]
  const played = useMemo(() => forecasts.forecasts.flatMap(playedOf), [forecasts.forecasts])
  const toggle = (on: boolean) => {
    setForecast(on)
    if (!on) forecasts.stop()
  }
  // Who is asked for is known once what is ahead was read.
  const isWaiting = isForecast && forecasts.of === 0 && asked.length > 0
  useStart(isWaiting, () => void forecasts.start(asked))
  const shown = isForecast ? only(played, filters) : ahead.shown
  return (
    <>
      <Heading
        title="Schedule"
        aside={
          <>
            <ForecastToggle on={isForecast} onChange={toggle} />
            <Tabs
              label="View"
              choices={VIEWS}
              value={view}
              onChange={(next) => {
                if (next === '') toggle(false)
                filters.set({ view: next })
              }}
            />
          </>
        }
      />
      <Bar filters={filters} />
      {isForecast && <ForecastStrip state={forecasts} people={asked.length} />}
      {view === '' && <ScheduleTable filters={filters} />}
      {view !== '' && (
        <Days view={view} shown={shown} error={ahead.error} isForecast={isForecast} />
      )}
      {open !== '' && (
        <ScheduleDrawer
          key={open}
          target={open}
          onClose={() => navigate(`/schedule${filters.search}`)}
        />
      )}
    </>
  )
}

function useStart(isWaiting: boolean, start: () => void): void {
  const [started, setStarted] = useState(false)
  if (isWaiting && !started) {
    setStarted(true)
    queueMicrotask(start)
  }
  if (!isWaiting && started) setStarted(false)
}

/** The occurrences of the next two weeks: all of them, and those that fit the filters. */
function useAhead(filters: Filters, enabled: boolean) {
  const [to] = useState(() => new Date(serverNow() + AHEAD_MS).toISOString())
  const path = overviewPath(to, filters.get('user_id'))
  const { data, error } = useRead<Overview>(path, ['overview', 'schedules'], enabled)
  const all = useMemo(() => upcoming(data), [data])
  return { all, error, shown: data === undefined ? undefined : only(all, filters) }
}

function only(all: readonly Occurrence[], { get }: Filters): Occurrence[] {
  const words = get('q').toLowerCase()
  return all.filter(
    ({ kind, agent, name, user }) =>
      (get('kind') === '' || kind === get('kind')) &&
      (get('agent_id') === '' || agent === get('agent_id')) &&
      (get('user_id') === '' || user === get('user_id')) &&
      name.toLowerCase().includes(words),
  )
}

interface DaysProps {
  readonly view: View
  readonly shown: readonly Occurrence[] | undefined
  readonly error: Error | null
  readonly isForecast: boolean
}

function Days({ view, shown, error, isForecast }: DaysProps) {
  const zone = useShownZone()
  const days = useMemo(() => daysOf(shown ?? [], zone), [shown, zone])
  if (error !== null) return <Trouble error={error} />
  if (shown === undefined) return <Table label="" columns={[]} rows={undefined} keyOf={String} />
  if (days.length === 0 && !isForecast)
    return (
      <Empty title="Nothing comes due in the next 14 days">
        Conditions without a time of their own are in the table.
      </Empty>
    )
  return view === 'calendar' ? (
    <Calendar days={days} zone={zone} />
  ) : (
    <Agenda days={days} zone={zone} />
  )
}

function Bar({ filters }: { filters: Filters }) {
  const { agents } = useCapabilities()
  const all = seesAll(useMe())
  return (
    <FilterBar>
      <WordsFilter
        main
        filters={filters}
        name="q"
        label="Search schedules"
        className="flex-1 basis-44"
      />
      <ChoiceFilter
        filters={filters}
        name="kind"
        label="Kind"
        choices={[['', 'Any kind'], ...KINDS.map((kind) => [kind, KIND_NAMES[kind]] as const)]}
      />
      <ChoiceFilter filters={filters} name="status" label="Status" choices={STATUSES} />
      {all && (
        <>
          <WordsFilter
            filters={filters}
            name="user_id"
            label="Person"
            list="people"
            className="w-32"
          />
          <PeopleList id="people" />
        </>
      )}
      <ChoiceFilter
        filters={filters}
        name="agent_id"
        label="Agent"
        choices={[['', 'Any agent'], ...agents.map((name) => [name, name] as const)]}
      />
    </FilterBar>
  )
}

const COLUMNS: readonly Column<Schedule>[] = [
  { name: 'Kind', className: 'w-11', cell: ({ kind }) => <Kind kind={kind} /> },
  {
    name: 'Name',
    className: 'max-md:flex-1 max-md:basis-52',
    cell: (row) => <RowLink href={pageOf(row.kind, row.id)}>{row.name || row.note}</RowLink>,
  },
  { name: 'Person', className: 'w-[13%]', cell: ({ user_id }) => <PersonLink id={user_id} /> },
  { name: 'Agent', className: 'w-[12%]', cell: ({ agent_id }) => <AgentLink id={agent_id} /> },
  {
    name: 'When',
    className: 'w-[18%]',
    wide: true,
    cell: (row) => <span title={row.description}>{briefly(row)}</span>,
  },
  {
    name: 'Next',
    className: 'w-[12.5rem]',
    cell: ({ next_at, timezone }) =>
      next_at === null ? (
        <span className="text-muted max-md:hidden">–</span>
      ) : (
        <When at={next_at} zone={timezone} as="both" />
      ),
  },
  {
    name: 'Last',
    className: 'w-[9rem]',
    wide: true,
    cell: ({ last }) =>
      last === null ? (
        <span className="text-muted">–</span>
      ) : (
        <OutcomeState outcome={last.outcome} />
      ),
  },
  {
    name: 'Status',
    className: 'w-[6.5rem]',
    cell: (row) => {
      const { words, icon, tone } = stateOf(row)
      return (
        <State icon={icon} tone={tone}>
          {words}
        </State>
      )
    },
  },
]

function ScheduleTable({ filters }: { filters: Filters }) {
  const { get } = filters
  const me = useMe()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const path = address('v1/schedules', {
    q: get('q'),
    kind: get('kind'),
    status: get('status'),
    user_id: get('user_id'),
    agent_id: get('agent_id'),
    limit: ROWS,
  })
  const list = usePages<Schedule>(path, ['schedules'])
  const { rows, error } = list
  const isFiltered = ['q', 'kind', 'status', 'user_id', 'agent_id'].some((name) => get(name) !== '')
  const selected = (rows ?? []).filter((row) => chosen.has(refOf(row)))
  if (rows === undefined && error !== null)
    return <Trouble error={error} onRetry={() => void list.refetch()} />
  if (rows?.length === 0)
    return isFiltered ? (
      <Empty title="No matching schedules">Change or clear the filters above.</Empty>
    ) : (
      <Empty title="Nothing is set yet">
        Press <kbd>n</kbd> and type a time in plain words, such as “in 20 seconds” or “every weekday
        at 8:30”. Agents set schedules with <code>turn.schedule</code>, apps with{' '}
        <code>PUT /v1/schedules/name</code>.
      </Empty>
    )
  return (
    <>
      {error !== null && <Trouble spaced error={error} />}
      {selected.length > 0 && <BulkBar rows={selected} onDone={() => setChosen(new Set())} />}
      <Table
        label="Schedules"
        columns={COLUMNS}
        rows={rows}
        keyOf={refOf}
        nameOf={(row) => row.name || row.note}
        {...(mayChange(me) ? { selection: { chosen, choose: setChosen } } : {})}
        more={list.hasNextPage}
        loading={list.isFetchingNextPage}
        onMore={() => void list.fetchNextPage()}
      />
    </>
  )
}
