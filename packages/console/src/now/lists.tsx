/** The timeline in words: what comes next, what has just been, what needs attention, and all of it as a table. */
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { KIND_NAMES, KindDot, OutcomeBadge, outcomeLabel } from '../parts/outcome.tsx'
import { Panel } from '../parts/parts.tsx'
import { fromNow, lasting, leftUntil, timeOf } from '../parts/time.ts'
import { lateWords, type Mark } from './marks.ts'

const SHOWN = 8
const TROUBLES_SHOWN = 4

interface Props {
  readonly marks: readonly Mark[]
  readonly now: number
}

const instant = ({ at }: Mark) => new Date(at).toISOString()

export function Coming({ marks, now }: Props) {
  const soonest = [...marks].sort((a, b) => a.at - b.at).slice(0, SHOWN)
  return (
    <Panel title="Coming up">
      {soonest.length === 0 && <p className="text-sm text-muted">Nothing in this window.</p>}
      <ul className="divide-y divide-line">
        {soonest.map((mark) => (
          <Row
            key={mark.key}
            mark={mark}
            aside={
              mark.at <= now ? (
                <span className="text-own">due now</span>
              ) : (
                <>in {leftUntil(instant(mark), now)}</>
              )
            }
          >
            {timeOf(instant(mark), now)}
            {mark.checks ? ' · will look' : ''}
            {mark.repeats ? ' · recurs' : ''} · {mark.who}
          </Row>
        ))}
      </ul>
    </Panel>
  )
}

export function Been({ marks, now }: Props) {
  const newest = [...marks].sort((a, b) => b.at - a.at).slice(0, SHOWN)
  return (
    <Panel
      title="Just happened"
      aside={
        <Link href="/why" className="text-sm text-accent underline underline-offset-2">
          All, with reasons
        </Link>
      }
    >
      {newest.length === 0 && (
        <p className="text-sm text-muted">
          Nothing yet. Whatever fires shows up here, with what became of it.
        </p>
      )}
      <ul aria-live="polite" aria-relevant="additions" className="divide-y divide-line">
        {newest.map((mark) => (
          <Row
            key={mark.key}
            mark={mark}
            aside={mark.past !== null && <OutcomeBadge outcome={mark.past.outcome} />}
          >
            {fromNow(instant(mark), now)}
            {mark.past !== null && ` · ${lateWords(mark.past, lasting)}`} · {mark.who}
          </Row>
        ))}
      </ul>
    </Panel>
  )
}

function Row({ mark, aside, children }: { mark: Mark; aside: ReactNode; children: ReactNode }) {
  return (
    <li className="arrive flex items-center gap-3 py-2 text-sm">
      <KindDot kind={mark.kind} />
      <div className="min-w-0 flex-1">
        <Link href={mark.href} className="block truncate font-medium hover:underline">
          {mark.name}
        </Link>
        <p className="truncate text-xs text-muted">{children}</p>
      </div>
      <span className="shrink-0 text-right text-muted tabular-nums">{aside}</span>
    </li>
  )
}

/** Failures and messages that were held back, in the words of the ledger. */
export function WantsALook({ marks, now }: Props) {
  if (marks.length === 0) return null
  const worst = [...marks].sort((a, b) => Number(isFailed(b)) - Number(isFailed(a)) || b.at - a.at)
  const rest = worst.length - TROUBLES_SHOWN
  return (
    <section
      aria-label="Needs attention"
      className={`rounded-xl border px-4 py-3 ${
        worst.some(isFailed) ? 'border-bad bg-bad-soft' : 'border-own-line bg-own-soft'
      }`}
    >
      <h2 className="text-sm font-semibold">Needs attention</h2>
      <ul className="mt-1 flex flex-col gap-1.5 text-sm">
        {worst.slice(0, TROUBLES_SHOWN).map((mark) => (
          <li key={mark.key} className="flex items-baseline gap-2.5">
            <span
              aria-hidden="true"
              className={`size-2.5 shrink-0 ${isFailed(mark) ? 'rotate-45 rounded-xs bg-bad' : 'rounded-sm border-2 border-own-mark'}`}
            />
            <span className="min-w-0 wrap-anywhere">
              <Link href={mark.href} className="font-medium underline underline-offset-2">
                {mark.name}
              </Link>{' '}
              {mark.past?.words}{' '}
              <span className="text-xs whitespace-nowrap text-muted">
                {fromNow(instant(mark), now)}
              </span>
            </span>
          </li>
        ))}
      </ul>
      {rest > 0 && (
        <Link
          href={worst.some(isFailed) ? '/why/failed' : '/why/suppressed'}
          className="mt-1 inline-block text-sm underline"
        >
          {rest} more
        </Link>
      )}
    </section>
  )
}

function isFailed({ past }: Mark): boolean {
  return past?.outcome === 'failed'
}

const ROWS_MAX = 100

/** The same as the lanes, for those who read or hear rather than see. */
export function MarksTable({ marks, now }: Props) {
  const [open, setOpen] = useState(false)
  const sorted = open ? [...marks].sort((a, b) => a.at - b.at) : []
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)} className="mt-2 text-sm">
      <summary className="w-fit cursor-pointer text-muted">As a table</summary>
      <section aria-label="Timeline as a table" className="mt-2 overflow-x-auto">
        <table className="w-full min-w-120 text-left">
          <thead className="text-xs text-muted">
            <tr>
              <th className="py-1 pr-3 font-medium">Time</th>
              <th className="py-1 pr-3 font-medium">Kind</th>
              <th className="py-1 pr-3 font-medium">What</th>
              <th className="py-1 pr-3 font-medium">Whose</th>
              <th className="py-1 font-medium">State</th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {sorted.slice(0, ROWS_MAX).map((mark) => (
              <tr key={mark.key}>
                <td className="py-1 pr-3 whitespace-nowrap tabular-nums">
                  {timeOf(instant(mark), now)}
                </td>
                <td className="py-1 pr-3">{KIND_NAMES[mark.kind]}</td>
                <td className="py-1 pr-3">
                  <Link href={mark.href} className="underline underline-offset-2">
                    {mark.name}
                  </Link>
                </td>
                <td className="py-1 pr-3">{mark.who}</td>
                <td className="py-1">
                  {mark.past === null
                    ? `to come${mark.checks ? ', will look' : ''}`
                    : `${outcomeLabel(mark.past.outcome)}, ${lateWords(mark.past, lasting)}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {sorted.length > ROWS_MAX && (
          <p className="py-1 text-muted">
            The first {ROWS_MAX} of {sorted.length}.
          </p>
        )}
      </section>
    </details>
  )
}
