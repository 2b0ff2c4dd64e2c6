/** Is the server well, and does anything due wait? */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { answerOf } from '../api/http.ts'
import type { Health } from '../api/shapes.ts'
import { Badge, Heading, Panel } from '../parts/parts.tsx'
import { lasting } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { LagChart } from './lag-chart.tsx'
import { SourcesPanel } from './sources-panel.tsx'
import { StopsPanel } from './stops-panel.tsx'
import { SubscribersPanel } from './subscribers-panel.tsx'
import { WaitingPanel } from './waiting-panel.tsx'

const LOOK_MS = 2_000
const SAMPLES = 60
/** Beyond the first a reader would notice; beyond the second something is stuck. */
const SLOW_MS = 1_000
const LATE_MS = 10_000
const HEALTH = ['health'] as const

interface Sampled {
  readonly health: Health
  readonly lags: readonly number[]
}

export function HealthPage() {
  const client = useQueryClient()
  const { data, error, refetch } = useQuery({
    queryKey: HEALTH,
    queryFn: ({ signal }) => sample(client.getQueryData<Sampled>(HEALTH), signal),
    refetchInterval: LOOK_MS,
    retry: false,
  })
  return (
    <>
      <Heading title="Health">
        Looked at every two seconds while this page is open. The same is at{' '}
        <Address path="healthz" />, <Address path="readyz" /> and <Address path="metrics" /> for
        machines.
      </Heading>
      {error !== null && <Trouble spaced error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <p className="text-muted">Loading …</p>}
      {data !== undefined && error === null && (
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <div className="flex flex-col gap-4">
            <Facts health={data.health} />
            <WaitingPanel />
            <SourcesPanel />
            <SubscribersPanel />
          </div>
          <div className="flex flex-col gap-4">
            <StopsPanel />
            <Lag lag={data.health.due_lag_ms ?? {}} lags={data.lags} />
          </div>
        </div>
      )}
    </>
  )
}

/** 503 is an answer here, not an error: it says what is missing. */
async function sample(before: Sampled | undefined, signal: AbortSignal): Promise<Sampled> {
  const health = (await (await answerOf('healthz', { signal })).json()) as Health
  const worst = Math.max(0, ...Object.values(health.due_lag_ms ?? {}))
  return { health, lags: [...(before?.lags ?? []), worst].slice(-SAMPLES) }
}

function Address({ path }: { path: string }) {
  return (
    <a href={`./${path}`} className="text-accent underline underline-offset-2">
      /{path}
    </a>
  )
}

function Facts({ health }: { health: Health }) {
  const well = health.status === 'ok'
  const facts: [string, string][] = [
    ['Version', health.version],
    ['Database', health.database === 'pglite' ? 'embedded (PGlite)' : 'PostgreSQL'],
    ['Time zone data', health.tz_data],
    ['Services here', health.services?.join(', ') ?? 'not started'],
  ]
  return (
    <Panel
      title="Server"
      aside={<Badge tone={well ? 'good' : 'bad'}>{well ? 'all well' : health.status}</Badge>}
    >
      <dl className="divide-y divide-line text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="flex justify-between gap-4 py-2">
            <dt className="text-muted">{name}</dt>
            <dd className="text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

function Lag({ lag, lags }: { lag: Readonly<Record<string, number>>; lags: readonly number[] }) {
  return (
    <Panel title="Due lag">
      <p className="text-sm text-muted">
        How long the oldest due row has been waiting for somebody to take it. Near zero is well.
      </p>
      <dl className="mt-2 divide-y divide-line text-sm">
        {Object.entries(lag).map(([table, ms]) => (
          <div key={table} className="flex justify-between gap-4 py-2">
            <dt className="text-muted first-letter:uppercase">{table}</dt>
            <dd className="flex items-center gap-2 tabular-nums">
              {lasting(ms)}
              <LagBadge ms={ms} />
            </dd>
          </div>
        ))}
      </dl>
      <LagChart lags={lags} secondsApart={LOOK_MS / 1000} slots={SAMPLES} />
    </Panel>
  )
}

function LagBadge({ ms }: { ms: number }) {
  if (ms < SLOW_MS) return <Badge tone="good">on time</Badge>
  return ms < LATE_MS ? <Badge tone="own">slow</Badge> : <Badge tone="bad">late</Badge>
}
