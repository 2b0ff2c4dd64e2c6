/** One work: its schedule, what can be done about it, and every output. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { request } from '../api/http.ts'
import { useAct } from '../forms/act.ts'
import { DeleteButton } from '../forms/delete-button.tsx'
import { Back, Facts } from '../lists/facts.tsx'
import { useNow } from '../parts/clock.ts'
import { Badge, Button, Heading, Panel } from '../parts/parts.tsx'
import { fromNow, timeOf, whenIn } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { ChangeFrequency } from './change-frequency.tsx'
import { Outputs } from './outputs.tsx'
import { isLive, type Output, stateOf, type Work } from './shapes.ts'

const LOOK_MS = 3_000
const LOOK_LIVE_MS = 1_000

interface Found {
  readonly work: Work
  readonly outputs: readonly Output[]
}

export function WorkDetail({ id }: { id: string }) {
  const [deleted, setDeleted] = useState(false)
  const { data, error, refetch } = useQuery({
    queryKey: ['work', 'one', id],
    queryFn: ({ signal }) => request<Found>(`v1/work/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.outputs.some(isLive) ? LOOK_LIVE_MS : LOOK_MS),
    enabled: !deleted,
  })
  return (
    <>
      <Back href="/work" to="All work">
        {data !== undefined && <State work={data.work} />}
      </Back>
      {error !== null && !deleted && (
        <Trouble spaced error={error} onRetry={() => void refetch()} />
      )}
      {data === undefined && error === null && <p className="text-muted">Loading …</p>}
      {data !== undefined && <Known found={data} onDelete={() => setDeleted(true)} />}
    </>
  )
}

function State({ work }: { work: Work }) {
  const { words, tone } = stateOf(work)
  return <Badge tone={tone}>{words}</Badge>
}

function Known({ found, onDelete }: { found: Found; onDelete: () => void }) {
  const { work, outputs } = found
  const now = useNow()
  const [converting, setConverting] = useState(false)
  return (
    <>
      <Heading title={work.task}>
        <span className="inline-block first-letter:uppercase">{work.description}</span>
      </Heading>
      <div className="grid grid-cols-1 items-start gap-5 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Outputs work={work} outputs={outputs} />
        <div className="flex flex-col gap-5 max-lg:order-first">
          <Panel title="Schedule">
            <Facts
              facts={[
                ['Executor', work.agent_type],
                ['For', work.user_id],
                ['Project', work.project_id],
                ['Last run', work.last_run_at && fromNow(work.last_run_at, now)],
                ['Made', timeOf(work.created_at, now)],
              ]}
            />
            {work.next_runs.length > 0 && (
              <>
                <h3 className="mt-3 text-sm font-medium">Next times</h3>
                <ol className="text-sm text-muted">
                  {work.next_runs.map((at) => (
                    <li key={at}>
                      <time dateTime={at}>{whenIn(at, work.timezone)}</time>
                    </li>
                  ))}
                </ol>
              </>
            )}
            <Actions
              work={work}
              onConvert={() => setConverting(!converting)}
              converting={converting}
              onDelete={onDelete}
            />
          </Panel>
          {converting && <ChangeFrequency work={work} onDone={() => setConverting(false)} />}
        </div>
      </div>
    </>
  )
}

interface ActionProps {
  readonly work: Work
  readonly converting: boolean
  readonly onConvert: () => void
  readonly onDelete: () => void
}

function Actions({ work, converting, onConvert, onDelete }: ActionProps) {
  const [, go] = useLocation()
  const act = useAct('work')
  const remove = useAct('work', () => go('/work'))
  const path = `v1/work/${work.id}`
  const recurring = work.frequency_cron !== null
  const busy = act.isPending || remove.isPending
  return (
    <div className="mt-4 flex flex-wrap gap-2">
      <Button
        main
        disabled={busy}
        onClick={() => act.mutate({ method: 'POST', path: `${path}/run` })}
      >
        Run now
      </Button>
      {recurring && (
        <Button
          disabled={busy}
          onClick={() =>
            act.mutate({ method: 'PATCH', path, body: { is_active: !work.is_active } })
          }
        >
          {work.is_active ? 'Pause' : 'Resume'}
        </Button>
      )}
      <Button aria-expanded={converting} onClick={onConvert}>
        Change frequency
      </Button>
      <DeleteButton
        what="work"
        words="All of its outputs and files go with it. A run under way is stopped."
        disabled={busy}
        onYes={() => {
          onDelete()
          remove.mutate({ method: 'DELETE', path })
        }}
      />
      {act.error !== null && <Trouble error={act.error} />}
      {remove.error !== null && <Trouble error={remove.error} />}
    </div>
  )
}
