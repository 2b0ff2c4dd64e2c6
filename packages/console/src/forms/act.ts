/** Something one does to a thing, after which lists and the thing itself are looked at again. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { request } from '../api/http.ts'

interface Sent {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly actAs?: string | undefined
}

/** `area` is what the keys of its queries begin with. */
export function useAct<T = unknown>(area: string, done?: (answer: T) => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ path, ...sent }: Sent) => request<T>(path, sent),
    onSuccess: (answer) => done?.(answer),
    onSettled: () => client.invalidateQueries({ queryKey: [area] }),
  })
}
