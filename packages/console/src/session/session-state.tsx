/** Whether a session waits, and whether its agent may follow up, in one line of a list. */
import type { ListedSession } from '../api/shapes.ts'
import { useNow } from '../parts/clock.ts'
import { State } from '../parts/outcome.tsx'
import { gateWords } from './words.ts'

const MINUTE = 60_000

export function SessionState({ session }: { session: ListedSession }) {
  const { done_seq, last_seq, gate, consecutive_autonomous_msgs: unanswered } = session
  const now = useNow(MINUTE)
  if (done_seq < last_seq)
    return (
      <State icon="dots" tone="plain">
        {`${last_seq - done_seq} waiting`}
      </State>
    )
  const { state } = gateWords(gate, unanswered, now)
  if (state !== 'open')
    return (
      <State icon="hand" tone="own">
        {state}
      </State>
    )
  if (unanswered === 0) return <span className="text-muted max-md:hidden">–</span>
  return (
    <State icon="sent" tone="own">
      {`${unanswered} unanswered`}
    </State>
  )
}
