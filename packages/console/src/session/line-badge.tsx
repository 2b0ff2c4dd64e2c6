/** Whether what is shown is live. */
import type { Line } from '../api/socket.ts'
import { useNow } from '../parts/clock.ts'
import { Badge } from '../parts/parts.tsx'

export function LineBadge({ line }: { line: Line }) {
  return (
    <span role="status">
      {line.state === 'live' ? (
        <Badge tone="good">
          <Dot /> Live
        </Badge>
      ) : line.state === 'connecting' ? (
        <Badge>Connecting …</Badge>
      ) : (
        <Away retryAt={line.retryAt} />
      )}
    </span>
  )
}

function Away({ retryAt }: { retryAt: number }) {
  useNow()
  const left = Math.max(1, Math.ceil((retryAt - Date.now()) / 1000))
  return <Badge tone="bad">Not connected, trying again in {left} s</Badge>
}

function Dot() {
  return <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />
}
