/** One slot: what became of it in a sentence, and the chain behind it when asked. */
import { Link } from 'wouter'
import { type LedgerEntry, latenessMs } from '../api/ledger.ts'
import { useNow } from '../parts/clock.ts'
import { KIND_NAMES, KindDot, OutcomeBadge } from '../parts/outcome.tsx'
import { fromNow, lasting, timeOf } from '../parts/time.ts'
import { sessionAddress } from '../session/key.ts'
import { chainOf } from './chain.ts'

const MINUTE = 60_000

export function Entry({ entry }: { entry: LedgerEntry }) {
  const now = useNow(MINUTE)
  const { trigger, outcome, words, at } = entry
  return (
    <li>
      <details className="group">
        <summary className="flex cursor-pointer flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3 -outline-offset-2 hover:bg-sunk [&::-webkit-details-marker]:hidden">
          <span className="flex min-w-0 flex-1 basis-80 items-baseline gap-2.5">
            <span className="self-center">
              <KindDot kind={trigger.kind} />
            </span>
            <span className="min-w-0">
              <span className="font-medium wrap-anywhere">{trigger.name}</span>
              <span className="text-sm text-muted"> · {entry.user_id}</span>
              <span className="block text-sm wrap-anywhere">{words}</span>
            </span>
          </span>
          <span className="flex items-center gap-3 text-sm text-muted max-sm:pl-4.5">
            <OutcomeBadge outcome={outcome} />
            <time dateTime={at} title={timeOf(at, now)} className="sm:w-28 sm:text-right">
              {fromNow(at, now)}
            </time>
            <span
              aria-hidden="true"
              className="size-2 rotate-45 border-r-2 border-b-2 border-edge group-open:-rotate-135"
            />
          </span>
        </summary>
        <Chain entry={entry} />
      </details>
    </li>
  )
}

function Chain({ entry }: { entry: LedgerEntry }) {
  const steps = chainOf(entry)
  return (
    <div className="border-t border-line bg-page px-4 py-3 text-sm">
      <ol className="flex flex-col">
        {steps.map(({ what, when, tone, detail }, index) => (
          <li key={what} className="relative flex gap-3 pb-3 last:pb-0">
            {index < steps.length - 1 && (
              <span
                aria-hidden="true"
                className="absolute top-3 bottom-0 left-[0.3rem] w-px bg-edge"
              />
            )}
            <span
              aria-hidden="true"
              className={`relative mt-1.5 size-2.5 shrink-0 rounded-full ${TONES[tone]}`}
            />
            <span className="min-w-0 flex-1">
              <span className="wrap-anywhere">{what}</span>
              {detail !== undefined && (
                <span className="block text-muted wrap-anywhere">{detail}</span>
              )}
            </span>
            {when !== undefined && (
              <time dateTime={when} className="shrink-0 text-muted tabular-nums">
                {timeOf(when)}
              </time>
            )}
          </li>
        ))}
      </ol>
      <Facts entry={entry} />
    </div>
  )
}

const TONES = {
  plain: 'bg-edge',
  good: 'bg-good',
  own: 'bg-own-mark',
  bad: 'bg-bad',
} as const

function Facts({ entry }: { entry: LedgerEntry }) {
  const late = latenessMs(entry)
  return (
    <p className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      <span>{KIND_NAMES[entry.trigger.kind]}</span>
      <span>{late < 1_000 ? 'taken up on time' : `taken up ${lasting(late)} late`}</span>
      {entry.attempts > 1 && <span>{entry.attempts} attempts</span>}
      {entry.missed_count > 0 && <span>stands for {entry.missed_count} more that were missed</span>}
      {(entry.repeats ?? 1) > 1 && <span>seen {entry.repeats} times in a row</span>}
      {entry.session_key !== undefined && (
        <Link href={sessionAddress(entry.session_key)} className="text-accent underline">
          {entry.session_key}
        </Link>
      )}
    </p>
  )
}
