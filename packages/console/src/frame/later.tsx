/** Pages whose code is read when they are first gone to. */
import { type ComponentType, useEffect, useReducer, useState } from 'react'
import { answerOf, Problem } from '../api/http.ts'
import { Skeleton } from '../parts/skeleton.tsx'
import { Trouble } from '../parts/trouble.tsx'

const AGAIN_MS = 3_000

export interface LaterPage<P> {
  readonly load: () => Promise<ComponentType<P>>
  /** Once it was read. */
  known: ComponentType<P> | null
}

export function later<P>(load: () => Promise<ComponentType<P>>): LaterPage<P> {
  return { load, known: null }
}

interface Props<P> {
  readonly page: LaterPage<P>
  readonly props: P
  /** Nothing in its place meanwhile: it lies over the page. */
  readonly quiet?: boolean
}

/**
 * Not by React's `lazy`: it holds back whatever follows its fallback for 300 ms, requests included, and a page whose code does
 * not come would take the whole console with it.
 */
export function Later<P extends object>({ page, props, quiet = false }: Props<P>) {
  const [, drawAgain] = useReducer((times: number) => times + 1, 0)
  const [missing, setMissing] = useState<LaterPage<P> | null>(null)
  useEffect(() => {
    if (page.known !== null) return
    page.load().then(
      (loaded) => {
        page.known = loaded
        drawAgain()
      },
      () => setMissing(page),
    )
  }, [page])
  const Known = page.known
  if (Known !== null) return <Known {...props} />
  if (missing === page) return <NotLoaded />
  return quiet ? null : <Skeleton rows={6} />
}

/** The server is away, or was replaced by another version, whose pages are elsewhere: both are mended by beginning again. */
function NotLoaded() {
  useEffect(() => {
    const asking = setInterval(beginAnew, AGAIN_MS)
    return () => clearInterval(asking)
  }, [])
  return (
    <Trouble
      error={new Problem(0, 'This page could not be loaded', [])}
      onRetry={() => void beginAnew()}
    />
  )
}

async function beginAnew(): Promise<void> {
  const answers = await answerOf('healthz').then(
    () => true,
    () => false,
  )
  if (answers) location.reload()
}
