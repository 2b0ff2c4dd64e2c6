/** What can be chosen on this server: agents, executors of work, people. */
import { useQuery } from '@tanstack/react-query'
import { request } from '../api/http.ts'
import { useRead } from '../api/query.ts'
import type { Page } from '../api/shapes.ts'
import { seesAll, useMe } from '../frame/me.ts'

interface Capabilities {
  readonly agents: readonly string[]
  readonly agent_types: readonly string[]
  readonly channels: readonly string[]
}

const NONE: Capabilities = { agents: [], agent_types: [], channels: [] }
const FRESH_MS = 60_000

export function useCapabilities(): Capabilities {
  const { data } = useQuery({
    queryKey: ['capabilities'],
    queryFn: ({ signal }) => request<Capabilities>('v1/capabilities', { signal }),
    staleTime: FRESH_MS,
  })
  return data ?? NONE
}

/** Who owns what names no person. */
export const LOCAL_PERSON = 'local'

/** Those who were seen last. */
export function usePeople(): readonly string[] {
  const all = seesAll(useMe())
  const { data } = useRead<Page<{ user_id: string }>>(
    'v1/people?order=last_seen&limit=50',
    ['people'],
    all,
  )
  return (data?.data ?? []).map(({ user_id }) => user_id)
}
