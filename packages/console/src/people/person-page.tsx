/** Everything about one person: what comes, what was, where they are reached, and how they want to be spoken to. */
import { type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import { address } from '../api/address.ts'
import { type LedgerEntry, ledgerPath } from '../api/ledger.ts'
import { useRead } from '../api/query.ts'
import type { ListedSession, Page } from '../api/shapes.ts'
import { ChannelList } from '../channels/channel-list.tsx'
import { seesAll, useMe } from '../frame/me.ts'
import { SessionLink } from '../kit/links.tsx'
import { Icon } from '../parts/icon.tsx'
import { Kind, OutcomeState, State } from '../parts/outcome.tsx'
import { Badge, Heading, Panel } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { useShownZone } from '../parts/use-zone.ts'
import { When } from '../parts/when.tsx'
import { Agenda } from '../schedule/agenda.tsx'
import { daysOf } from '../schedule/days.ts'
import { useForecasts } from '../schedule/forecast.ts'
import { ForecastStrip, ForecastToggle } from '../schedule/forecast-strip.tsx'
import { type Forecast, playedOf } from '../schedule/played.ts'
import { pageOf, refOf, type Schedule, stateOf } from '../schedule/schedule.ts'
import { LastActivity } from '../session/last-activity.tsx'
import { DeferredPanel } from './deferred-panel.tsx'
import { PausePanel } from './pause-panel.tsx'
import { PreferencesForm } from './preferences-form.tsx'
import { type Person, pathOf } from './shapes.ts'

const ROWS = 10

export function PersonPage({ id }: { id: string }) {
  const { data, error, refetch } = useRead<Person>(pathOf(id), ['people'])
  const forecasts = useForecasts()
  const isForecast = forecasts.of > 0
  const all = seesAll(useMe())
  return (
    <>
      {all && (
        <p className="mb-2 text-[13px]">
          <Link href="/people" className="text-accent underline underline-offset-4">
            ← People
          </Link>
        </p>
      )}
      <Heading
        title={id}
        aside={
          <>
            <ForecastToggle
              on={isForecast}
              onChange={(on) => (on ? void forecasts.start([id]) : forecasts.stop())}
            />
            <Link
              href={`/people/${encodeURIComponent(id)}?new=1&for=${encodeURIComponent(id)}`}
              className="inline-flex min-h-8 items-center gap-1.5 rounded-md border border-line bg-panel px-3 text-[13px] font-medium hover:bg-sunk"
            >
              <Icon name="plus" /> New for {id}
            </Link>
          </>
        }
      >
        {data !== undefined && <Standing person={data} />}
      </Heading>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {isForecast && (
        <>
          <ForecastStrip state={forecasts} people={1} />
          <Played forecasts={forecasts.forecasts} />
        </>
      )}
      <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-4">
          <Next id={id} />
          <Last id={id} />
          <Sessions id={id} />
          {data !== undefined && <PreferencesForm person={data} />}
        </div>
        <div className="flex min-w-0 flex-col gap-4">
          {data === undefined && error === null && <Skeleton rows={8} />}
          {data !== undefined && (
            <>
              <DeferredPanel person={data} />
              <PausePanel person={data} />
            </>
          )}
          <Panel title="Channels">
            <ChannelList user={id} />
          </Panel>
        </div>
      </div>
    </>
  )
}

function Standing({ person }: { person: Person }) {
  const { timezone, timezone_known, quiet_until, paused_until } = person
  const now = new Date().toISOString()
  return (
    <span className="flex flex-wrap items-center gap-2">
      <span title={whenIn(now, timezone)}>
        {timezone}
        {!timezone_known && ' (not known: the server’s own)'}
      </span>
      {paused_until !== null && (
        <Badge tone="own">
          paused until <When at={paused_until} zone={timezone} />
        </Badge>
      )}
      {quiet_until !== null && (
        <Badge tone="own">
          quiet now, until <When at={quiet_until} zone={timezone} />
        </Badge>
      )}
    </span>
  )
}

function Played({ forecasts }: { forecasts: readonly Forecast[] }) {
  const zone = useShownZone()
  const days = useMemo(() => daysOf(forecasts.flatMap(playedOf), zone), [forecasts, zone])
  if (days.length === 0) return null
  return (
    <div className="mb-6">
      <Agenda days={days} zone={zone} />
    </div>
  )
}

interface ListedProps<T> {
  readonly title: string
  readonly path: string
  readonly topic: 'schedules' | 'ledger' | 'sessions'
  readonly all: string
  readonly none: string
  readonly row: (each: T) => ReactNode
  readonly keyOf: (each: T) => string
}

/** The first rows of a list, with the way to all of them. */
function Listed<T>({ title, path, topic, all, none, row, keyOf }: ListedProps<T>) {
  const { data, error } = useRead<Page<T>>(path, [topic])
  return (
    <Panel
      title={title}
      aside={
        data?.next_cursor && (
          <Link href={all} className="text-[13px] text-accent underline underline-offset-2">
            All
          </Link>
        )
      }
    >
      {error !== null && <Trouble error={error} />}
      {data === undefined && error === null && <Skeleton />}
      {data?.data.length === 0 && <p className="text-[13px] text-muted">{none}</p>}
      <ul aria-label={title} className="divide-y divide-line text-[13px]">
        {data?.data.map((each) => (
          <li key={keyOf(each)} className="flex flex-wrap items-center gap-x-3 gap-y-0.5 py-2">
            {row(each)}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Next({ id }: { id: string }) {
  return (
    <Listed<Schedule>
      title="Next"
      topic="schedules"
      path={address('v1/schedules', { user_id: id, status: 'active', limit: ROWS })}
      all={address('/schedule', { user_id: id })}
      none="Nothing is set for them."
      keyOf={refOf}
      row={(each) => {
        const { words, icon, tone } = stateOf(each)
        return (
          <>
            <Kind kind={each.kind} />
            <Link
              href={pageOf(each.kind, each.id)}
              className="min-w-0 flex-1 basis-40 truncate font-medium hover:underline"
            >
              {each.name || each.note}
            </Link>
            {tone === 'bad' && (
              <State icon={icon} tone={tone}>
                {words}
              </State>
            )}
            <span className="text-muted">
              {each.next_at === null ? (
                each.description
              ) : (
                <When at={each.next_at} zone={each.timezone} as="both" />
              )}
            </span>
          </>
        )
      }}
    />
  )
}

function Last({ id }: { id: string }) {
  return (
    <Listed<LedgerEntry>
      title="Last"
      topic="ledger"
      path={ledgerPath({ user_id: id, limit: ROWS })}
      all={address('/activity', { user_id: id, span: 'all' })}
      none="Nothing has come due for them yet."
      keyOf={(each) => each.id}
      row={(each) => (
        <>
          <Kind kind={each.trigger.kind} />
          <Link
            href={`/activity/${encodeURIComponent(each.id)}`}
            title={each.words}
            className="min-w-0 flex-1 basis-40 truncate font-medium hover:underline"
          >
            {each.trigger.name}
          </Link>
          <OutcomeState outcome={each.outcome} />
          <When at={each.at} as="both" className="text-muted" />
        </>
      )}
    />
  )
}

function Sessions({ id }: { id: string }) {
  return (
    <Listed<ListedSession>
      title="Sessions"
      topic="sessions"
      path={address('v1/sessions', { user_id: id, order: 'activity', limit: ROWS })}
      all={address('/activity', { user_id: id, span: 'all' })}
      none="They have no conversation yet."
      keyOf={(each) => each.session_key}
      row={(each) => (
        <>
          <Icon name="chat" className="text-muted" />
          <span className="min-w-0 flex-1 basis-40 truncate">
            <SessionLink id={each.session_key} words={each.session_key.slice(id.length + 1)} />
          </span>
          <span className="text-muted">
            <LastActivity session={each} />
          </span>
        </>
      )}
    />
  )
}
