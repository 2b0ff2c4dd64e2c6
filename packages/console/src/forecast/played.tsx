/** A forecast to go through: the lanes of all its days, a slider for the instant, and that day's occurrences in words. */
import { useMemo, useState } from 'react'
import { Timeline } from '../now/timeline.tsx'
import { KIND_NAMES, KindDot, OutcomeBadge } from '../parts/outcome.tsx'
import { Badge, Panel } from '../parts/parts.tsx'
import { whenIn } from '../parts/time.ts'
import { dayIn, type Forecast, marksAt, type Occurrence, outcomeAt, standing } from './shapes.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How far one step of the slider goes. */
const STEP_MS = HOUR_MS / 4

export function Played({ forecast }: { forecast: Forecast }) {
  const { totals, cut, notes, timezone } = forecast
  const [from, to] = [Date.parse(forecast.from), Date.parse(forecast.to)]
  const [at, setAt] = useState(to)
  const marks = useMemo(() => marksAt(forecast, at), [forecast, at])
  const { said, waiting } = standing(forecast, at)
  const days = (to - from) / DAY_MS
  return (
    <>
      <Panel
        title={`What ${forecast.user_id} would hear`}
        aside={
          <span className="flex flex-wrap justify-end gap-1.5">
            <Badge tone="good">{totals.said} said</Badge>
            <Badge tone="own">{totals.deferred} deferred</Badge>
            <Badge tone="own">{totals.gathered} gathered</Badge>
            <Badge>{totals.dropped} dropped</Badge>
          </span>
        }
      >
        <Timeline
          from={from}
          now={at}
          to={to}
          tickMs={days > 10 ? 2 * DAY_MS : days > 2 ? DAY_MS : 6 * HOUR_MS}
          marks={marks}
        />
        <label htmlFor="instant" className="sr-only">
          The instant that is looked at
        </label>
        <input
          id="instant"
          type="range"
          min={from}
          max={to}
          step={STEP_MS}
          value={at}
          onChange={(event) => setAt(Number(event.target.value))}
          aria-valuetext={whenIn(new Date(at).toISOString(), timezone)}
          className="ml-19 w-[calc(100%-4.75rem)] accent-accent sm:ml-26 sm:w-[calc(100%-6.5rem)]"
        />
        <p className="mt-1 text-sm">
          <span className="font-medium tabular-nums">
            {whenIn(new Date(at).toISOString(), timezone)}
          </span>{' '}
          <span className="text-muted">
            · by then {said} said, {waiting} waiting for their moment
          </span>
        </p>
        {cut !== null && (
          <p role="status" className="mt-2 text-sm text-own">
            Cut at {whenIn(forecast.to, timezone)}: its most {cut.why} were reached
            {cut.busiest === null ? '' : `; most often came ${cut.busiest.name}`}.
          </p>
        )}
        {notes.map((note) => (
          <p key={note} className="mt-2 text-sm text-muted">
            {note}
          </p>
        ))}
      </Panel>
      <OneDay forecast={forecast} at={at} />
    </>
  )
}

function OneDay({ forecast, at }: { forecast: Forecast; at: number }) {
  const { timezone, occurrences, by_day } = forecast
  const day = dayIn(at, timezone)
  const those = occurrences.filter((each) => dayIn(each.at, timezone) === day)
  const counts = by_day.find((each) => each.day === day)
  return (
    <Panel
      title={`On ${day}`}
      aside={
        <span className="text-sm text-muted">
          {counts === undefined
            ? 'nothing'
            : `${counts.said} said, ${counts.deferred} deferred, ${counts.gathered} gathered, ${counts.dropped} dropped`}
        </span>
      }
    >
      {those.length === 0 ? (
        <p className="text-sm text-muted">Nothing would come due on this day.</p>
      ) : (
        <ol aria-label="Occurrences" className="divide-y divide-line">
          {those.map((each) => (
            <Line key={each.id} occurrence={each} timezone={timezone} at={at} />
          ))}
        </ol>
      )}
    </Panel>
  )
}

interface LineProps {
  readonly occurrence: Occurrence
  readonly timezone: string
  /** The instant that is looked at. */
  readonly at: number
}

function Line({ occurrence, timezone, at }: LineProps) {
  const { trigger, words, text } = occurrence
  const ahead = Date.parse(occurrence.at) > at
  const clock = new Intl.DateTimeFormat(undefined, {
    ...{ timeZone: timezone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  }).format(new Date(occurrence.at))
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 gap-y-1 py-2 text-sm">
      <span className="tabular-nums">{clock}</span>
      <span className="inline-flex items-center gap-1.5 font-medium">
        <KindDot kind={trigger.kind} />
        <span className="sr-only">{KIND_NAMES[trigger.kind]}: </span>
        {trigger.name}
      </span>
      {trigger.draft && <Badge tone="own">draft</Badge>}
      {ahead ? <Badge>still to come</Badge> : <OutcomeBadge outcome={outcomeAt(occurrence, at)} />}
      {!ahead && <span className="w-full text-muted">{text ?? words}</span>}
    </li>
  )
}
