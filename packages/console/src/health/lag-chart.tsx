/** The worst due lag over the last looks, as bars. */
import { lasting } from '../parts/time.ts'

const HEIGHT = 48
const BAR = 6
const GAP = 2
/** The scale never goes below this, so that a few milliseconds do not look like trouble. */
const SCALE_MIN_MS = 1_000

interface Props {
  readonly lags: readonly number[]
  readonly secondsApart: number
  readonly slots: number
}

export function LagChart({ lags, secondsApart, slots }: Props) {
  const top = Math.max(SCALE_MIN_MS, ...lags)
  const width = slots * (BAR + GAP)
  const worst = lasting(Math.max(0, ...lags))
  return (
    <figure className="mt-3">
      <svg
        role="img"
        aria-label={`Worst lag of the last ${lags.length} looks: ${worst}`}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-12 w-full border-b border-line"
      >
        {lags.map((ms, index) => {
          const height = Math.max(1.5, (ms / top) * HEIGHT)
          const x = (slots - lags.length + index) * (BAR + GAP)
          return (
            <rect
              key={x}
              x={x}
              y={HEIGHT - height}
              width={BAR}
              height={height}
              className="fill-accent"
            />
          )
        })}
      </svg>
      <figcaption className="mt-1 flex justify-between text-xs text-muted">
        <span>{(slots * secondsApart) / 60} minutes ago</span>
        <span>worst seen: {worst}</span>
        <span>now</span>
      </figcaption>
    </figure>
  )
}
