/** How the rows of one session are read. Apart from its page, so that reading begins while the page's code is on its way. */
import type { QueryClient } from '@tanstack/react-query'
import { Problem } from '../api/http.ts'
import { NOTHING, type SessionRows, withNewest } from './joining.ts'
import { readFirst, readHead, readNewest } from './rows.ts'

export const rowsKey = (key: string) => ['session', key] as const

export function pathOf(key: string): string {
  return `v1/sessions/${encodeURIComponent(key)}`
}

/** Never stale by age: the live line says when to look again. */
export function sessionQuery(client: QueryClient, key: string) {
  return {
    queryKey: rowsKey(key),
    queryFn: ({ signal }: { signal: AbortSignal }) => readRows(client, key, signal),
    staleTime: Number.POSITIVE_INFINITY,
  }
}

async function readRows(
  client: QueryClient,
  key: string,
  signal: AbortSignal,
): Promise<SessionRows> {
  const path = pathOf(key)
  const before = client.getQueryData<SessionRows>(rowsKey(key))
  const read = before === undefined ? readFirst : readNewest
  try {
    const [head, newest] = await Promise.all([readHead(path, signal), read(path, signal)])
    // Looked at only now: older rows may have come meanwhile.
    const known = client.getQueryData<SessionRows>(rowsKey(key)) ?? NOTHING
    return { ...withNewest(known, newest), head }
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return NOTHING
    throw error
  }
}
