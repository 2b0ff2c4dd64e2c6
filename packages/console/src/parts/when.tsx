/** One instant: in the reader's zone, with how far it is from now, and every clock in its tooltip. */
import { useNow } from './clock.ts'
import { everyClock, fromNow, timeOf } from './time.ts'
import { useShownZone } from './use-zone.ts'

interface Props {
  readonly at: string
  /** The person's own zone, for the tooltip. */
  readonly zone?: string | undefined
  /** `both`: the time and, muted, how far it is from now. */
  readonly as?: 'time' | 'relative' | 'both'
  readonly className?: string
}

const MINUTE = 60_000
const SOON_MS = 2 * MINUTE

export function When({ at, zone, as = 'time', className = '' }: Props) {
  const shown = useShownZone()
  const now = useNow(Math.abs(Date.parse(at) - Date.now()) < SOON_MS ? 1_000 : MINUTE)
  return (
    <time
      dateTime={at}
      title={everyClock(at, zone)}
      className={`whitespace-nowrap tabular-nums ${className}`}
    >
      {as === 'relative' ? fromNow(at, now) : timeOf(at, now, shown)}
      {as === 'both' && <span className="text-muted"> · {fromNow(at, now)}</span>}
    </time>
  )
}
