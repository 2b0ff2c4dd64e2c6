/** The steps of an occurrence one below the other, each with a bar where it lasted. */
import { everyClock, lasting, timeOf } from '../parts/time.ts'
import type { Step } from './chain.ts'
import { placed } from './placing.ts'

const INKS: Readonly<Record<Step['tone'], string>> = {
  plain: 'bg-edge',
  good: 'bg-good',
  own: 'bg-own-mark',
  bad: 'bg-bad',
}
export function Waterfall({ steps }: { steps: readonly Step[] }) {
  return (
    <ol aria-label="Steps" className="flex flex-col divide-y divide-line text-[13px]">
      {placed(steps).map(({ step, at, size }, index) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: steps never move
          key={index}
          className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 py-2 sm:grid-cols-[minmax(0,1fr)_minmax(7rem,14rem)_8.5rem]"
        >
          <div className="min-w-0">
            <p className="wrap-anywhere">{step.what}</p>
            {step.detail !== undefined && <p className="text-muted wrap-anywhere">{step.detail}</p>}
          </div>
          <div aria-hidden="true" className="relative h-2 rounded bg-sunk max-sm:hidden">
            <span
              className={`absolute inset-y-0 rounded ${INKS[step.tone]}`}
              style={{ left: `${at * 100}%`, width: `${size * 100}%` }}
            />
          </div>
          <Time step={step} />
        </li>
      ))}
    </ol>
  )
}

function Time({ step: { when, until } }: { step: Step }) {
  if (when === undefined) return <span />
  const took = until === undefined ? null : Date.parse(until) - Date.parse(when)
  return (
    <span className="text-right whitespace-nowrap text-muted tabular-nums">
      <time dateTime={when} title={everyClock(when)}>
        {timeOf(when)}
      </time>
      {took !== null && took > 0 && ` · ${lasting(took)}`}
    </span>
  )
}
