/** Whether all is well, in one line. System shows the same answer. */
import { Link } from 'wouter'
import type { Overview } from '../api/overview.ts'
import { State } from '../parts/outcome.tsx'
import { lasting } from '../parts/time.ts'

/** Beyond the first a reader would notice; beyond the second something is stuck. */
const SLOW_MS = 1_000
const LATE_MS = 10_000

export function healthOf({ due_lag_ms: lag }: Overview['figures']) {
  if (lag < SLOW_MS) return { words: 'On time', icon: 'check', tone: 'good' } as const
  if (lag < LATE_MS)
    return { words: `Slow: ${lasting(lag)} behind`, icon: 'later', tone: 'own' } as const
  return { words: `Late: ${lasting(lag)} behind`, icon: 'warning', tone: 'bad' } as const
}

export function FigureStrip({ figures }: { figures: Overview['figures'] }) {
  const { words, icon, tone } = healthOf(figures)
  const waiting = figures.sessions_waiting
  return (
    <Link
      href="/system"
      className="inline-flex flex-wrap items-center gap-x-3 rounded-md px-2 py-1 hover:bg-sunk"
    >
      <State icon={icon} tone={tone}>
        {words}
      </State>
      <span>{waiting === 1 ? '1 session waits' : `${waiting.toLocaleString()} sessions wait`}</span>
      <span>{figures.undelivered.toLocaleString()} not read yet</span>
    </Link>
  )
}
