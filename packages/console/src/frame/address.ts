/** Addresses after the `#`: a path and, behind a `?`, the filters of the page. Both are kept in the browser's history. */
import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { useSearch } from 'wouter'

const CHANGED = 'hashchange'

function subscribe(listener: () => void): () => void {
  addEventListener(CHANGED, listener)
  return () => removeEventListener(CHANGED, listener)
}

function hash(): string {
  const text = location.hash.replace(/^#?\/?/, '')
  return `/${text}`
}

const pathNow = () => hash().split('?', 1)[0] ?? '/'
const searchNow = () => hash().split('?')[1] ?? ''

export function navigate(to: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', `#${to}`)
  dispatchEvent(new Event(CHANGED))
}

export function useHashAddress(): [string, typeof navigate] {
  return [useSyncExternalStore(subscribe, pathNow), navigate]
}
useHashAddress.hrefs = (href: string) => `#${href}`

export function useHashSearch(): string {
  return useSyncExternalStore(subscribe, searchNow)
}

export interface Filters {
  readonly get: (name: string) => string
  /** An empty value removes the filter. */
  readonly set: (values: Readonly<Record<string, string>>) => void
  /** With its `?`; empty without filters. */
  readonly search: string
}

/** The filters of a page, kept in its address, so that a link shows the same rows. */
export function useFilters(): Filters {
  const search = useSearch()
  const params = useMemo(() => new URLSearchParams(search), [search])
  const set = useCallback<Filters['set']>((values) => {
    const next = new URLSearchParams(searchNow())
    for (const [name, value] of Object.entries(values)) {
      if (value === '') next.delete(name)
      else next.set(name, value)
    }
    navigate(next.size === 0 ? pathNow() : `${pathNow()}?${next}`, { replace: true })
  }, [])
  return {
    get: (name) => params.get(name) ?? '',
    set,
    search: search === '' ? '' : `?${search}`,
  }
}
