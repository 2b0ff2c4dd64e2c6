/** A stop shows on every page, with a way to end it. */
import { Link } from 'wouter'
import { useAct } from '../forms/act.ts'
import { Icon } from '../parts/icon.tsx'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { nameOfStop, type Stop, useStops } from './stops.ts'

const SHOWN = 3

export function StopBanner() {
  const stops = useStops()
  if (stops.length === 0) return null
  return (
    <section
      aria-label="Stopped"
      className="mb-4 flex flex-col gap-2 rounded-lg border border-bad bg-bad-soft px-4 py-2.5 text-[13px]"
    >
      {stops.slice(0, SHOWN).map((stop) => (
        <One key={stop.id} stop={stop} />
      ))}
      {stops.length > SHOWN && (
        <Link href="/system/stops" className="underline underline-offset-2">
          {stops.length - SHOWN} more stops
        </Link>
      )}
    </section>
  )
}

function One({ stop }: { stop: Stop }) {
  const act = useAct(['stops', 'inbox', 'sessions', 'agents', 'overview'])
  const name = nameOfStop(stop)
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <p className="flex min-w-0 flex-1 basis-72 items-center gap-2">
        <Icon name="stop" className="text-bad" />
        <span className="min-w-0 wrap-anywhere">
          <strong className="font-semibold text-bad">
            {stop.level === 'everything' ? 'Everything is stopped' : `Stopped: ${name}`}
          </strong>{' '}
          since <When at={stop.created_at} />
          {stop.reason !== '' && `: ${stop.reason}`}. Its turns are held until you resume.
        </span>
      </p>
      <Link href="/system/stops" className="underline underline-offset-2">
        Held events
      </Link>
      <Button
        disabled={act.isPending}
        aria-label={`Resume ${name}`}
        onClick={() => act.mutate({ method: 'POST', path: `v1/stops/${stop.id}/resume`, body: {} })}
      >
        <Icon name="play" /> Resume
      </Button>
      {act.error !== null && <Trouble error={act.error} />}
    </div>
  )
}
