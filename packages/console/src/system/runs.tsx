/** Work that runs now, how far it is, and how much longer it will take at this pace. */
import { Link } from 'wouter'
import type { Run } from '../api/activity.ts'
import { useNow } from '../parts/clock.ts'
import { Panel } from '../parts/parts.tsx'
import { ProgressBar } from '../parts/progress.tsx'
import { lasting } from '../parts/time.ts'
import { pageOf } from '../schedule/schedule.ts'
import { leftMs } from './columns.ts'

export function Runs({ runs }: { runs: readonly Run[] }) {
  const now = useNow()
  return (
    <Panel title="Running work">
      {runs.length === 0 && <p className="text-[13px] text-muted">None is running or waiting.</p>}
      <ul className="divide-y divide-line">
        {runs.map((run) => (
          <li key={`${run.work_id} ${run.run_number}`} className="py-3">
            <p className="flex justify-between gap-3 text-[13px]">
              <Link
                href={pageOf('work', run.work_id)}
                className="min-w-0 truncate font-medium underline"
              >
                {run.task}
              </Link>
              <span className="shrink-0 text-muted tabular-nums">{timeWords(run, now)}</span>
            </p>
            <ProgressBar
              label={`Progress of ${run.task}`}
              words={
                run.status === 'pending' ? 'Waiting to start' : (run.progress_note ?? 'Running')
              }
              share={run.progress}
            />
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function timeWords({ started_at: started, progress }: Run, now: number): string {
  if (started === null) return 'not started'
  const left = leftMs(started, progress, now)
  const spent = `for ${lasting(Math.max(0, now - Date.parse(started)))}`
  return left === null ? spent : `${spent}, about ${lasting(left)} to go`
}
