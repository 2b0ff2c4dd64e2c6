/** Two weeks side by side. Each mark is a link, and says in its tooltip what it is. */
import { Link } from 'wouter'
import { useNow } from '../parts/clock.ts'
import { Kind, outcomeLabel } from '../parts/outcome.tsx'
import { clockIn, dayIn, dayWords, everyClock } from '../parts/time.ts'
import type { Day, Line } from './days.ts'

const DAY_MS = 86_400_000
const DAYS = 14
const SHOWN = 6
const MINUTE = 60_000

export function Calendar({ days, zone }: { days: readonly Day[]; zone: string }) {
  const now = useNow(MINUTE)
  const lines = new Map(days.map((each) => [each.day, each.lines]))
  // Of the middle of the day: the clock change moves midnight.
  const all = Array.from({ length: DAYS }, (_, index) => dayIn(now + index * DAY_MS, zone))
  return (
    <ol className="grid grid-cols-1 overflow-hidden rounded-lg border border-line bg-line gap-px md:grid-cols-7">
      {all.map((day, index) => (
        <li
          key={day}
          aria-label={dayWords(day)}
          className={`bg-panel p-2 md:min-h-28 text-xs ${lines.has(day) ? '' : 'max-md:hidden'}`}
        >
          <p className={`mb-1 ${index === 0 ? 'font-semibold text-accent' : 'text-muted'}`}>
            {index === 0 ? 'Today' : dayWords(day).replace(/^(\w{3})\w*,? (\d+ \w{3}).*$/, '$1 $2')}
          </p>
          <Marks lines={lines.get(day) ?? []} zone={zone} />
        </li>
      ))}
    </ol>
  )
}

function Marks({ lines, zone }: { lines: readonly Line[]; zone: string }) {
  const rest = lines.length - SHOWN
  return (
    <ul className="flex flex-col gap-0.5">
      {lines.slice(0, SHOWN).map(({ shown, count }) => (
        <li key={shown.key}>
          <Link
            href={shown.href}
            title={`${shown.name}, ${shown.user}${shown.outcome === null ? '' : `: ${shown.words ?? outcomeLabel(shown.outcome)}`}\n${everyClock(shown.at)}`}
            className="flex items-center gap-1 rounded px-1 py-0.5 hover:bg-sunk"
          >
            <Kind kind={shown.kind} />
            <span className="text-muted tabular-nums">{clockIn(shown.at, zone)}</span>
            <span
              className={`min-w-0 truncate ${shown.outcome === 'failed' ? 'text-bad' : isHeld(shown.outcome) ? 'text-own' : ''}`}
            >
              {shown.name}
            </span>
            {count > 1 && <span className="shrink-0 text-muted">×{count}</span>}
          </Link>
        </li>
      ))}
      {rest > 0 && <li className="px-1 text-muted">{rest} more</li>}
    </ul>
  )
}

function isHeld(outcome: string | null): boolean {
  return outcome === 'suppressed' || outcome === 'deferred' || outcome === 'missed'
}
