/** Days as lists: the time, what, whose, and what became of it. What recurs is one line. */
import { Link } from 'wouter'
import { useNow } from '../parts/clock.ts'
import { Kind, OutcomeState } from '../parts/outcome.tsx'
import { clockIn, dayIn, dayWords, everyClock, fromNow } from '../parts/time.ts'
import type { Day, Line } from './days.ts'

const MINUTE = 60_000
/** The server names no more times of one schedule. */
const COUNTED_MAX = 60

export function Agenda({ days, zone }: { days: readonly Day[]; zone: string }) {
  const now = useNow(MINUTE)
  const today = dayIn(now, zone)
  return (
    <div className="flex flex-col gap-4">
      {days.map(({ day, lines }) => (
        <section key={day} aria-label={dayWords(day)}>
          <h2 className="mb-1 text-xs font-medium text-muted">
            {day === today ? `Today, ${dayWords(day)}` : dayWords(day)}
          </h2>
          <DayLines lines={lines} zone={zone} />
        </section>
      ))}
    </div>
  )
}

export function DayLines({ lines, zone }: { lines: readonly Line[]; zone: string }) {
  return (
    <ol className="divide-y divide-line rounded-lg border border-line bg-panel text-[13px]">
      {lines.map((line) => (
        <One key={line.shown.key} line={line} zone={zone} />
      ))}
    </ol>
  )
}

function One({ line, zone }: { line: Line; zone: string }) {
  const now = useNow(MINUTE)
  const { shown, count, last, failed } = line
  const { at, kind, name, user, agent, outcome, href, words } = shown
  return (
    <li className="relative flex flex-wrap items-center gap-x-3 gap-y-0.5 px-3 py-2 hover:bg-sunk/60">
      <time
        dateTime={at}
        title={everyClock(at)}
        className="w-11 shrink-0 tabular-nums text-muted max-sm:w-10"
      >
        {clockIn(at, zone)}
      </time>
      <Kind kind={kind} />
      <span className="min-w-0 flex-1 basis-40 truncate">
        <Link href={href} className="font-medium after:absolute after:inset-0 hover:underline">
          {name}
        </Link>
        {count > 1 && (
          <span className="text-muted">
            {' '}
            {count < COUNTED_MAX ? `× ${count}, until ${clockIn(last, zone)}` : `× ${count}+`}
            {failed > 0 && `, ${failed} failed`}
          </span>
        )}
        {words !== undefined && outcome !== null && (
          <span className="text-muted max-md:hidden"> · {words}</span>
        )}
      </span>
      <span className="shrink-0 text-muted max-sm:basis-full max-sm:pl-13">
        {user}
        {agent !== null && ` · ${agent}`}
      </span>
      <span className="w-36 shrink-0 truncate text-right text-muted max-sm:hidden">
        {outcome === null ? fromNow(at, now) : <OutcomeState outcome={outcome} />}
      </span>
    </li>
  )
}
