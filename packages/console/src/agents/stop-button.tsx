/** Stops an agent, or lets it run again. Both can be undone, so neither asks first. */
import { useAct } from '../forms/act.ts'
import { Icon } from '../parts/icon.tsx'
import { Button } from '../parts/parts.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { useStops } from '../stops/stops.ts'

const TOPICS = ['stops', 'agents', 'inbox', 'sessions', 'overview'] as const

export function StopButton({ agent }: { agent: string }) {
  const stop = useStops().find(({ level, target }) => level === 'agent' && target === agent)
  const act = useAct(TOPICS)
  const toggle = () =>
    stop === undefined
      ? act.mutate({ method: 'POST', path: 'v1/stops', body: { level: 'agent', target: agent } })
      : act.mutate({ method: 'POST', path: `v1/stops/${stop.id}/resume`, body: {} })
  return (
    <span className="relative z-10 inline-flex items-center gap-2">
      <Button
        disabled={act.isPending}
        aria-label={`${stop === undefined ? 'Stop' : 'Resume'} ${agent}`}
        onClick={toggle}
      >
        <Icon name={stop === undefined ? 'stop' : 'play'} />
        {stop === undefined ? 'Stop' : 'Resume'}
      </Button>
      {act.error !== null && <Trouble error={act.error} />}
    </span>
  )
}
