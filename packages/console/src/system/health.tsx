/** Is the server well, how late does it run, and how did the last day and week go? */
import { Tile } from '../agents/agent-page.tsx'
import type { Activity } from '../api/activity.ts'
import { useRead } from '../api/query.ts'
import { useMe } from '../frame/me.ts'
import { healthOf } from '../home/figures.tsx'
import { useToday } from '../home/today.ts'
import { State } from '../parts/outcome.tsx'
import { Panel } from '../parts/parts.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import { fromNow, lasting } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { Runs } from './runs.tsx'
import { DayPlot, WeekPlot } from './throughput.tsx'

export function HealthPart() {
  const activity = useRead<Activity>('v1/activity', ['activity', 'ledger', 'work'])
  return (
    <div className="flex flex-col gap-4">
      <Now />
      {activity.error !== null && <Trouble error={activity.error} />}
      {activity.data === undefined && activity.error === null && <Skeleton rows={6} />}
      {activity.data !== undefined && (
        <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-2">
          <DayPlot activity={activity.data} />
          <div className="flex min-w-0 flex-col gap-4">
            <WeekPlot activity={activity.data} />
            <Runs runs={activity.data.runs} />
          </div>
        </div>
      )}
      <Findings />
    </div>
  )
}

/** The same answer that Home shows. */
function Now() {
  const { overview, now } = useToday()
  const { data, error } = overview
  if (error !== null) return <Trouble error={error} onRetry={() => void overview.refetch()} />
  if (data === undefined) return <Skeleton />
  const { figures } = data
  const { words, icon, tone } = healthOf(figures)
  const { oldest_undelivered_at: oldest } = figures
  return (
    <dl
      aria-label="Now"
      className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line lg:grid-cols-4"
    >
      <Tile name="Health" note="what is due is taken up">
        <State icon={icon} tone={tone}>
          {words}
        </State>
      </Tile>
      <Tile name="Lag" note="the oldest that is due and not taken" bad={tone === 'bad'}>
        {lasting(figures.due_lag_ms)}
      </Tile>
      <Tile name="Sessions waiting" note="for a turn">
        {figures.sessions_waiting.toLocaleString()}
      </Tile>
      <Tile
        name="Not read yet"
        note={oldest === null ? 'every message was read' : `oldest ${fromNow(oldest, now)}`}
      >
        {figures.undelivered.toLocaleString()}
      </Tile>
    </dl>
  )
}

interface Examined {
  readonly findings: readonly {
    readonly check: string
    readonly health: 'ok' | 'warn' | 'fail'
    readonly text: string
    readonly advice?: string
  }[]
}

const LOOKS = {
  ok: { icon: 'check', tone: 'good' },
  warn: { icon: 'warning', tone: 'own' },
  fail: { icon: 'warning', tone: 'bad' },
} as const

/** What the doctor found; for admins. */
function Findings() {
  const isAdmin = useMe()?.role === 'admin'
  const { data, error } = useRead<Examined>('v1/doctor', [], isAdmin)
  if (!isAdmin) return null
  return (
    <Panel title="Checks">
      {error !== null && <Trouble error={error} />}
      {data === undefined && error === null && <Skeleton />}
      <ul aria-label="Checks" className="divide-y divide-line text-[13px]">
        {data?.findings.map(({ check, health, text, advice }) => (
          <li key={`${check} ${text}`} className="flex flex-wrap gap-x-3 py-2">
            <span className="w-44">
              <State {...LOOKS[health]}>{check}</State>
            </span>
            <span className="min-w-0 flex-1 basis-64 wrap-anywhere">
              {text}
              {advice !== undefined && <span className="block text-muted">{advice}</span>}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
