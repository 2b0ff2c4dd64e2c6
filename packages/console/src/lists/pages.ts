/** A list that is read page by page as one scrolls, and looked at again while one watches. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { request } from '../api/http.ts'
import type { Page } from '../api/shapes.ts'

const LOOK_MS = 3_000

interface Asked {
  /** Also the key in the cache: lists of one area begin alike. */
  readonly key: readonly unknown[]
  /** Without `limit` and `cursor`. */
  readonly path: string
  readonly rows: number
  readonly everyMs?: number
  readonly enabled?: boolean
}

/** Only what was read first is read again by the clock; the rest when something was changed here. */
export function usePages<T>({ key, path, rows, everyMs = LOOK_MS, enabled = true }: Asked) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === null ? '' : `&cursor=${pageParam}`
      const mark = path.includes('?') ? '&' : '?'
      return request<Page<T>>(`${path}${mark}limit=${rows}${cursor}`, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    enabled,
    // Refreshing many pages costs many requests, so pages far down are not refreshed.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 2 ? false : everyMs),
    placeholderData: keepPreviousData,
  })
  const all = useMemo(() => query.data?.pages.flatMap((page) => page.data), [query.data])
  return { ...query, rows: all }
}

/** The same for lists that answer plain arrays with `limit` and `offset`. */
export function useOffsets<T>({ key, path, rows, everyMs = LOOK_MS, enabled = true }: Asked) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => {
      const mark = path.includes('?') ? '&' : '?'
      return request<T[]>(`${path}${mark}limit=${rows}&offset=${pageParam}`, { signal })
    },
    initialPageParam: 0,
    enabled,
    getNextPageParam: (last, pages) => (last.length < rows ? null : pages.length * rows),
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 2 ? false : everyMs),
    placeholderData: keepPreviousData,
  })
  const all = useMemo(() => query.data?.pages.flat(), [query.data])
  return { ...query, rows: all }
}
