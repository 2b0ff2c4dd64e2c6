/** Whom this page's credentials stand for. */
import { useQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { request } from '../api/http.ts'
import { isKeyWanted, onKeyChange, shownKey } from '../api/key.ts'

export interface Me {
  readonly role: 'admin' | 'service' | 'agent' | 'user' | 'worker'
  readonly user_id: string | null
  readonly agent_id: string | null
}

export function useMe(): Me | undefined {
  return useQuery({
    queryKey: ['me'],
    queryFn: ({ signal }) => request<Me>('v1/me', { signal }),
    staleTime: 60_000,
  }).data
}

/** Sees everybody's, so a person can be chosen. */
export function seesAll(me: Me | undefined): boolean {
  return me !== undefined && me.user_id === null
}

/** May set and change schedules. */
export function mayChange(me: Me | undefined): boolean {
  return me !== undefined && me.role !== 'user' && me.role !== 'worker'
}

export function useKey(): { readonly key: string | null; readonly wanted: boolean } {
  const key = useSyncExternalStore(onKeyChange, shownKey)
  const wanted = useSyncExternalStore(onKeyChange, isKeyWanted)
  return { key, wanted }
}
