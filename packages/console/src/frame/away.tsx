/** The server does not answer: said once, above every page, so that no page has to guess. */
import { type QueryClient, useIsFetching, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Problem } from '../api/http.ts'
import { Icon } from '../parts/icon.tsx'
import { timeOf } from '../parts/time.ts'

/** True when what was asked last for the page came to nothing for want of an answer. */
export function useServerAway(): boolean {
  const client = useQueryClient()
  const fetching = useIsFetching()
  const [away, setAway] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at again whenever a request began or ended
  useEffect(() => {
    const failed = client
      .getQueryCache()
      .getAll()
      // What is not on screen is not asked again.
      .filter((query) => query.isActive())
      .some(
        ({ state: { error, fetchFailureReason } }) =>
          isUnanswered(error) || isUnanswered(fetchFailureReason),
      )
    setAway(failed)
  }, [client, fetching])
  return away
}

function isUnanswered(error: Error | null): boolean {
  return error instanceof Problem && error.status === 0
}

const AGAIN_MS = 3_000

/** Only what had no answer. */
function askAgain(client: QueryClient): Promise<void> {
  return client.refetchQueries({
    type: 'active',
    predicate: ({ state }) => isUnanswered(state.error),
  })
}

export function AwayBanner() {
  const client = useQueryClient()
  const away = useServerAway()
  const [since, setSince] = useState<string | null>(null)
  useEffect(() => {
    setSince(away ? new Date().toISOString() : null)
    if (!away) return
    const asking = setInterval(() => void askAgain(client), AGAIN_MS)
    return () => clearInterval(asking)
  }, [away, client])
  if (!away || since === null) return null
  return (
    <p
      role="alert"
      className="mb-4 flex items-center gap-2 rounded-lg bg-bad-soft px-4 py-2.5 text-[13px]"
    >
      <Icon name="warning" className="text-bad" />
      <span>
        <strong className="font-semibold text-bad">The server does not answer.</strong> What is
        shown was read before {timeOf(since)} and may be old. This page tries again by itself.
      </span>
    </p>
  )
}
