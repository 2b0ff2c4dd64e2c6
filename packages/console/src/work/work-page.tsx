/** All work, newest first; one of it with its outputs; and having something done. */
import { useMemo, useState } from 'react'
import { Link, Route, Switch } from 'wouter'
import { Choice, Search } from '../lists/filters.tsx'
import { usePages } from '../lists/pages.ts'
import { WindowedList } from '../lists/windowed-list.tsx'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Empty, Heading } from '../parts/parts.tsx'
import { fromNow, leftUntil } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { NewWork } from './new-work.tsx'
import { stateOf, type Work } from './shapes.ts'
import { WorkDetail } from './work-detail.tsx'

const ROWS = 100
const ROW_PX = 77
const CHOICES = [
  ['', 'All'],
  ['true', 'Active'],
  ['false', 'Paused or done'],
] as const

export function WorkPage() {
  return (
    <Switch>
      <Route path="/work/:id">{({ id }) => <WorkDetail key={id} id={id} />}</Route>
      <Route>
        <WorkList />
      </Route>
    </Switch>
  )
}

function WorkList() {
  const [making, setMaking] = useState(false)
  const [words, setWords] = useState('')
  const [active, setActive] = useState<(typeof CHOICES)[number][0]>('')
  const list = usePages<Work>({
    key: ['work', active],
    path: active === '' ? 'v1/work' : `v1/work?active=${active}`,
    rows: ROWS,
  })
  const { error } = list
  const rows = useMemo(
    () => list.rows?.filter((work) => contains(work, words.trim().toLowerCase())),
    [list.rows, words],
  )
  const filtered = words.trim() !== '' || active !== ''
  return (
    <>
      <Heading title="Work">
        Work is a task that runs in the background, once or again and again, and leaves an output
        each time.
      </Heading>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <Search label="Search work" value={words} onChange={setWords} />
        <Choice label="State" choices={CHOICES} value={active} onChange={setActive} />
        <Button
          main={!making}
          aria-expanded={making}
          className="max-sm:w-full"
          onClick={() => setMaking(!making)}
        >
          {making ? 'Close' : 'New work'}
        </Button>
      </div>
      {making && <NewWork />}
      {error !== null && <Trouble spaced error={error} onRetry={() => void list.refetch()} />}
      {rows === undefined && error === null && <p className="text-muted">Loading …</p>}
      {rows?.length === 0 && !list.hasNextPage && (filtered ? <NoneFound /> : <NoWork />)}
      {rows !== undefined && (rows.length > 0 || list.hasNextPage) && (
        <WindowedList
          label="Work"
          rows={rows}
          rowPx={ROW_PX}
          keyOf={(work) => work.id}
          draw={(work) => <WorkRow work={work} />}
          more={list.hasNextPage}
          loading={list.isFetchingNextPage}
          onMore={list.fetchNextPage}
        />
      )}
    </>
  )
}

function contains({ task, agent_type, user_id, project_id }: Work, wanted: string): boolean {
  return [task, agent_type, user_id, project_id ?? ''].some((text) =>
    text.toLowerCase().includes(wanted),
  )
}

function WorkRow({ work }: { work: Work }) {
  const now = useNow()
  const { words, tone } = stateOf(work)
  const { next_run_at: next, last_run_at: last } = work
  return (
    <Link
      href={`/work/${work.id}`}
      className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 -outline-offset-2 hover:bg-sunk"
    >
      <span className="min-w-0 flex-1 basis-64">
        <span className="block truncate font-medium">{work.task}</span>
        <span className="block truncate text-sm text-muted">
          {work.agent_type} for {work.user_id} · {work.description}
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        {last !== null && <time dateTime={last}>ran {fromNow(last, now)}</time>}
        {next !== null && <time dateTime={next}>next in {leftUntil(next, now)}</time>}
        <span className="flex max-sm:order-first sm:w-16 sm:justify-end">
          <Badge tone={tone}>{words}</Badge>
        </span>
      </span>
    </Link>
  )
}

function NoneFound() {
  return <Empty title="No work fits">Search for other words, or show all of it.</Empty>
}

function NoWork() {
  return (
    <Empty title="No work yet">
      Press “New work”, say what is to be done, by which executor and how often, such as “daily at
      9am”. Apps do the same with <code className="font-mono text-[0.9em]">POST /v1/work</code>, and
      your own executors are given to{' '}
      <code className="font-mono text-[0.9em]">wakeful({'{ work }'})</code>.
    </Empty>
  )
}
