/** What needs somebody now, and what happens today. */
import { useMemo } from 'react'
import { Link } from 'wouter'
import { type LedgerEntry, ledgerPath } from '../api/ledger.ts'
import type { Overview } from '../api/overview.ts'
import { useRead } from '../api/query.ts'
import type { Page } from '../api/shapes.ts'
import { useServerAway } from '../frame/away.tsx'
import { Empty, Heading } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { dayIn, dayWords, startOfDay } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { useShownZone } from '../parts/use-zone.ts'
import { DayLines } from '../schedule/agenda.tsx'
import { daysOf, past, upcoming } from '../schedule/days.ts'
import { FigureStrip } from './figures.tsx'
import { Inbox } from './inbox.tsx'
import { useToday } from './today.ts'
import { Welcome } from './welcome.tsx'
import { ZoneChoice } from './zone-choice.tsx'

const PAST_MAX = 200

export function HomePage() {
  const zone = useShownZone()
  const { overview, now } = useToday()
  const from = new Date(startOfDay(now, zone)).toISOString()
  const done = useRead<Page<LedgerEntry>>(ledgerPath({ from, limit: PAST_MAX }), ['ledger'])
  const sessions = useRead<Page<unknown>>('v1/sessions?limit=1', ['sessions'])
  const schedules = useRead<Page<unknown>>('v1/schedules?limit=1', ['schedules'])
  const isBare =
    isEmpty(sessions.data) && isEmpty(schedules.data) && isEmpty(done.data) && !sessions.error
  const error = overview.error ?? done.error
  if (isBare) return <Welcome />
  return (
    <>
      <Heading title="Home" aside={<ZoneChoice />}>
        {overview.data !== undefined && overview.error === null && (
          <FigureStrip figures={overview.data.figures} />
        )}
      </Heading>
      {error !== null && <Trouble spaced error={error} onRetry={() => void overview.refetch()} />}
      <Inbox />
      <Today
        zone={zone}
        now={now}
        overview={overview.data}
        entries={done.data?.data}
        failed={error !== null}
      />
    </>
  )
}

function isEmpty(page: Page<unknown> | undefined): boolean {
  return page !== undefined && page.data.length === 0
}

interface TodayProps {
  readonly zone: string
  readonly now: number
  readonly overview: Overview | undefined
  readonly entries: readonly LedgerEntry[] | undefined
  readonly failed: boolean
}

function Today({ zone, now, overview, entries, failed }: TodayProps) {
  const today = dayIn(now, zone)
  const away = useServerAway()
  const of = useMemo(
    () => (occurrences: ReturnType<typeof upcoming>) =>
      daysOf(occurrences, zone).find(({ day }) => day === today)?.lines ?? [],
    [zone, today],
  )
  const ahead = useMemo(() => of(upcoming(overview)), [of, overview])
  const behind = useMemo(() => of(past(entries ?? [])), [of, entries])
  const isKnown = overview !== undefined && entries !== undefined
  return (
    <section aria-label="Today" className="flex flex-col gap-3">
      <h2 className="flex items-baseline justify-between gap-3 font-semibold">
        Today, {dayWords(today)}
        <Link
          href="/schedule?view=agenda"
          className="text-[13px] font-normal text-accent underline underline-offset-2"
        >
          The next 14 days
        </Link>
      </h2>
      {!isKnown && !failed && <Skeleton rows={5} />}
      {ahead.length > 0 && (
        <Part title="Still to come">
          <DayLines lines={ahead} zone={zone} />
        </Part>
      )}
      {behind.length > 0 && (
        <Part title="Earlier today">
          <DayLines lines={behind.toReversed()} zone={zone} />
        </Part>
      )}
      {isKnown && !failed && !away && ahead.length + behind.length === 0 && (
        <Empty title="Nothing is planned for today">
          Press <kbd>n</kbd> to set something, or look at{' '}
          <Link href="/schedule" className="text-accent underline">
            all schedules
          </Link>
          .
        </Empty>
      )}
    </section>
  )
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title}>
      <h3 className="mb-1 text-xs font-medium text-muted">{title}</h3>
      {children}
    </section>
  )
}
