/** All alarms, newest first; one of them; and setting one in words. */
import { useState } from 'react'
import { Link, Route, Switch } from 'wouter'
import { Choice, Search } from '../lists/filters.tsx'
import { usePages } from '../lists/pages.ts'
import { WindowedList } from '../lists/windowed-list.tsx'
import { useNow, useSettled } from '../parts/clock.ts'
import { Badge, Button, Empty, Heading } from '../parts/parts.tsx'
import { fromNow, leftUntil } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { AlarmDetail } from './alarm-detail.tsx'
import { NewAlarm } from './new-alarm.tsx'
import {
  type Alarm,
  STATUS_TONES,
  STATUSES,
  type StatusChoice,
  titleOf,
  troubleOf,
} from './shapes.ts'

const ROWS = 100
const ROW_PX = 77
const TYPING_MS = 200

export function AlarmsPage() {
  return (
    <Switch>
      <Route path="/alarms/:id">{({ id }) => <AlarmDetail key={id} id={id} />}</Route>
      <Route>
        <AlarmList />
      </Route>
    </Switch>
  )
}

function AlarmList() {
  const [making, setMaking] = useState(false)
  const [made, setMade] = useState<Alarm | null>(null)
  const [words, setWords] = useState('')
  const [status, setStatus] = useState<StatusChoice>('')
  const asked = useSettled(words.trim(), TYPING_MS)
  const filters = new URLSearchParams()
  if (asked !== '') filters.set('q', asked)
  if (status !== '') filters.set('status', status)
  const list = usePages<Alarm>({
    key: ['alarms', filters.toString()],
    path: `v1/alarms?${filters}`,
    rows: ROWS,
  })
  const { rows, error } = list
  const filtered = filters.size > 0
  return (
    <>
      <Heading title="Alarms">
        An alarm wakes an agent at a time, once or again and again, with the words it was given.
      </Heading>
      <div className="mb-4 flex flex-wrap items-center gap-3">
        <Search label="Search alarms" value={words} onChange={setWords} />
        <Choice label="Status" choices={STATUSES} value={status} onChange={setStatus} />
        <Button
          main={!making}
          aria-expanded={making}
          className="max-sm:w-full"
          onClick={() => setMaking(!making)}
        >
          {making ? 'Close' : 'New alarm'}
        </Button>
      </div>
      {making && (
        <NewAlarm
          onMade={(alarm) => {
            setMade(alarm)
            setMaking(false)
          }}
        />
      )}
      {made !== null && <Made alarm={made} onClose={() => setMade(null)} />}
      {error !== null && <Trouble spaced error={error} onRetry={() => void list.refetch()} />}
      {rows === undefined && error === null && <p className="text-muted">Loading …</p>}
      {rows?.length === 0 && !list.hasNextPage && (filtered ? <NoneFound /> : <NoAlarms />)}
      {rows !== undefined && (rows.length > 0 || list.hasNextPage) && (
        <WindowedList
          label="Alarms"
          rows={rows}
          rowPx={ROW_PX}
          keyOf={(alarm) => alarm.id}
          draw={(alarm) => <AlarmRow alarm={alarm} />}
          more={list.hasNextPage}
          loading={list.isFetchingNextPage}
          onMore={list.fetchNextPage}
        />
      )}
    </>
  )
}

function Made({ alarm, onClose }: { alarm: Alarm; onClose: () => void }) {
  return (
    <div
      role="status"
      className="mb-4 flex items-center gap-3 rounded-xl bg-good-soft px-4 py-3 text-sm"
    >
      <p className="flex-1">
        <span className="font-medium text-good">Set.</span> {alarm.description}
        {alarm.notes?.map((note) => ` (${note})`)}
      </p>
      <Button onClick={onClose}>Dismiss</Button>
    </div>
  )
}

function AlarmRow({ alarm }: { alarm: Alarm }) {
  const trouble = troubleOf(alarm)
  return (
    <Link
      href={`/alarms/${alarm.id}`}
      className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3 -outline-offset-2 hover:bg-sunk"
    >
      <span className="min-w-0 flex-1 basis-64">
        <span className="block truncate font-medium">{titleOf(alarm)}</span>
        <span className="block truncate text-sm text-muted first-letter:uppercase">
          {alarm.description}
        </span>
      </span>
      <span className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        {trouble !== null && alarm.status === 'active' && <Badge tone="bad">{trouble}</Badge>}
        <When alarm={alarm} />
        <span className="flex max-sm:order-first sm:w-19 sm:justify-end">
          <Badge tone={STATUS_TONES[alarm.status]}>{alarm.status}</Badge>
        </span>
      </span>
    </Link>
  )
}

function When({ alarm }: { alarm: Alarm }) {
  const now = useNow()
  const { next_fire_at: next, last_fired_at: last } = alarm
  if (next !== undefined)
    return (
      <time dateTime={next}>
        {Date.parse(next) <= now ? 'firing now' : `in ${leftUntil(next, now)}`}
      </time>
    )
  if (last !== undefined) return <time dateTime={last}>{fromNow(last, now)}</time>
  return null
}

function NoneFound() {
  return <Empty title="No alarm fits">Search for other words, or show all statuses.</Empty>
}

function NoAlarms() {
  return (
    <Empty title="No alarms yet">
      Press “New alarm” and type a time in plain words, such as “in 20 seconds” or “every weekday at
      8:30”: what it means and its next times are shown as you type. Agents set alarms themselves
      with <code className="font-mono text-[0.9em]">turn.setAlarm</code>, apps with{' '}
      <code className="font-mono text-[0.9em]">POST /v1/alarms</code>.
    </Empty>
  )
}
