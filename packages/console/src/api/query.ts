/** Reading one thing, or a list page by page, and reading it again when the server says that it changed. */
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { about } from './changes.ts'
import { request } from './http.ts'
import type { Page } from './shapes.ts'
import type { Topic } from './topics.ts'

/** `path` is also the key in the cache: the same address is one result on every page. */
export function useRead<T>(path: string, topics: readonly Topic[], enabled = true) {
  return useQuery({
    queryKey: [path],
    queryFn: ({ signal }) => request<T>(path, { signal }),
    placeholderData: keepPreviousData,
    enabled,
    ...about(...topics),
  })
}

export function usePages<T>(path: string, topics: readonly Topic[], enabled = true) {
  const query = useInfiniteQuery({
    queryKey: [path, 'pages'],
    queryFn: ({ pageParam, signal }) => {
      const mark = path.includes('?') ? '&' : '?'
      return request<Page<T>>(pageParam === null ? path : `${path}${mark}cursor=${pageParam}`, {
        signal,
      })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    enabled,
    placeholderData: keepPreviousData,
    ...about(...topics),
  })
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.data), [query.data])
  return { ...query, rows }
}
