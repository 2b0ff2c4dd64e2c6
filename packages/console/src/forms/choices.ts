/** What can be chosen on this server: agents, executors of work, people. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../api/http.ts'
import type { ListedSession, Page } from '../api/shapes.ts'
import { KEY_PART } from '../session/key.ts'

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

/** Who owns what nobody is named for. */
export const LOCAL_PERSON = 'local'
const KEPT = 'wakeful.person'

/** For whom one is looking and making; kept between visits. */
export function usePerson(): readonly [string, (person: string) => void] {
  const [person, setPerson] = useState(() => localStorage.getItem(KEPT) ?? LOCAL_PERSON)
  return [
    person,
    (next) => {
      setPerson(next)
      if (KEY_PART.test(next)) localStorage.setItem(KEPT, next)
    },
  ]
}

/** Only callers that may act for others can name a person. */
export function actFor(person: string): string | undefined {
  return person === LOCAL_PERSON || person === '' ? undefined : person
}

/** Those who spoke lately. */
export function usePeople(): readonly string[] {
  const { data } = useQuery({
    queryKey: ['people'],
    queryFn: ({ signal }) => request<Page<ListedSession>>('v1/sessions?limit=100', { signal }),
    staleTime: FRESH_MS,
  })
  const users = (data?.data ?? []).map(({ session_key: key }) => key.split(':')[0] ?? '')
  return [...new Set([LOCAL_PERSON, ...users])]
}
