/** Pending timers, counting down. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '../api/http.ts'
import type { Timer } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { Button, Panel } from '../parts/parts.tsx'
import { leftUntil } from '../parts/time.ts'
import { Trouble } from '../parts/trouble.tsx'
import { When } from '../parts/when.tsx'
import { lookAgain } from './kept.ts'
import { pathOf } from './session-query.ts'
import { shareWaited } from './words.ts'

const SHOWN = 20

export function TimersPanel(props: { sessionKey: string; timers: readonly Timer[] }) {
  const { sessionKey, timers } = props
  const soonest = [...timers].sort((a, b) => Date.parse(a.fire_at) - Date.parse(b.fire_at))
  const more = timers.length - SHOWN
  return (
    <Panel title="Pending timers">
      {timers.length === 0 ? (
        <p className="min-h-13 text-[13px] text-muted">
          None. The agent sets one when it wants to come back on its own; a message from the user
          cancels it.
        </p>
      ) : (
        <ul className="flex max-h-56 flex-col gap-3 overflow-y-auto">
          {soonest.slice(0, SHOWN).map((timer) => (
            <Pending key={timer.id} sessionKey={sessionKey} timer={timer} />
          ))}
        </ul>
      )}
      {more > 0 && <p className="mt-2 text-[13px] text-muted">and {more} later ones</p>}
    </Panel>
  )
}

function Pending({ sessionKey, timer }: { sessionKey: string; timer: Timer }) {
  const now = useNow(250)
  const client = useQueryClient()
  const cancel = useMutation({
    mutationFn: () =>
      request(`${pathOf(sessionKey)}/timers/${encodeURIComponent(timer.timer_id)}`, {
        method: 'DELETE',
      }),
    onSettled: () => lookAgain(client, sessionKey),
  })
  const due = Date.parse(timer.fire_at) <= now
  return (
    <li className="text-[13px]">
      <div className="flex items-center gap-2">
        <div className="min-w-0 flex-1">
          <p className="font-semibold wrap-anywhere">{timer.timer_id}</p>
          <p className="text-muted">
            {due ? 'firing now' : `fires in ${leftUntil(timer.fire_at, now)}`}, at{' '}
            <When at={timer.fire_at} />
          </p>
        </div>
        <Button
          disabled={cancel.isPending}
          aria-label={`Cancel timer ${timer.timer_id}`}
          onClick={() => cancel.mutate()}
        >
          Cancel
        </Button>
      </div>
      <svg aria-hidden="true" className="mt-2 h-1 w-full rounded-full" preserveAspectRatio="none">
        <rect width="100%" height="100%" className="fill-sunk" />
        <rect
          width={`${(shareWaited(timer, now) * 100).toFixed(1)}%`}
          height="100%"
          className="fill-own-mark"
        />
      </svg>
      {cancel.error !== null && <Trouble error={cancel.error} />}
    </li>
  )
}
