/** Something one does to a thing, after which whatever shows it is read again. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { refresh } from '../api/changes.ts'
import { request } from '../api/http.ts'
import type { Topic } from '../api/topics.ts'

export interface Sent {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly actAs?: string | undefined
}

export function useAct<T = unknown>(topics: readonly Topic[], done?: (answer: T) => void) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ path, ...sent }: Sent) => request<T>(path, sent),
    onSuccess: (answer) => done?.(answer),
    onSettled: () => refresh(client, topics),
  })
}
