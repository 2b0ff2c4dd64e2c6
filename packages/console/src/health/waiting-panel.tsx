/** What waits for a turn or a reader. */
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { serverNow } from '../api/http.ts'
import { readOverview } from '../api/overview.ts'
import { useNow } from '../parts/clock.ts'
import { Badge, Panel } from '../parts/parts.tsx'
import { fromNow } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'

const LOOK_MS = 3_000

export function WaitingPanel() {
  const { data, error } = useQuery({
    queryKey: ['overview', 'health'],
    queryFn: ({ signal }) => readOverview(new Date(serverNow() + LOOK_MS).toISOString(), signal),
    refetchInterval: LOOK_MS,
  })
  const now = useNow()
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return null
  const { undelivered, oldest_undelivered_at: oldest, sessions_waiting: sessions } = data.figures
  return (
    <Panel
      title="Waiting"
      aside={sessions + undelivered === 0 && <Badge tone="good">nothing waits</Badge>}
    >
      <dl className="divide-y divide-line text-sm">
        <Line name="Sessions for a turn">{sessions.toLocaleString()}</Line>
        <Line name="Messages for their reader">
          {undelivered.toLocaleString()}
          {oldest !== null && (
            <span className="text-muted"> since {fromNow(oldest, now).replace(' ago', '')}</span>
          )}
        </Line>
      </dl>
      <p className="mt-2 text-xs text-muted">
        A message without an open socket waits without a time limit; that is no fault.
      </p>
    </Panel>
  )
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-4 py-2">
      <dt className="text-muted">{name}</dt>
      <dd className="text-right tabular-nums">{children}</dd>
    </div>
  )
}
