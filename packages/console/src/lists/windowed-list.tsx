/** A list of any length of which only what is in sight is drawn. The page scrolls, not a box within it. */
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Rows drawn beyond both edges. */
const OVERSCAN = 8
/** This near to the end the next page is asked for. */
const NEAR_ROWS = 40

interface Props<T> {
  readonly label: string
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly draw: (row: T) => ReactNode
  readonly rowPx: number
  readonly more: boolean
  readonly loading: boolean
  readonly onMore: () => void
}

export function WindowedList<T>(props: Props<T>) {
  const { label, rows, keyOf, draw, rowPx, more, loading, onMore } = props
  const list = useRef<HTMLUListElement>(null)
  const [margin, setMargin] = useState(0)
  // What stands above may grow and shrink: a form, an error.
  useLayoutEffect(() => {
    const look = () => {
      const top = list.current?.getBoundingClientRect().top
      if (top !== undefined) setMargin(Math.round(top + window.scrollY))
    }
    look()
    const watching = new ResizeObserver(look)
    watching.observe(document.body)
    return () => watching.disconnect()
  }, [])
  const windowed = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
    scrollMargin: margin,
    getItemKey: (index) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
  })
  const drawn = windowed.getVirtualItems()
  const last = drawn.at(-1)?.index ?? 0
  useEffect(() => {
    if (more && !loading && last >= rows.length - NEAR_ROWS) onMore()
  }, [more, loading, last, rows.length, onMore])
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-panel">
      <ul
        ref={list}
        aria-label={label}
        style={{
          height: windowed.getTotalSize(),
          paddingTop: (drawn[0]?.start ?? margin) - margin,
        }}
      >
        {drawn.map(({ index, key }) => {
          const row = rows[index]
          if (row === undefined) return null
          return (
            <li
              key={key}
              ref={windowed.measureElement}
              data-index={index}
              aria-setsize={more ? -1 : rows.length}
              aria-posinset={index + 1}
              className="border-b border-line last:border-b-0"
            >
              {draw(row)}
            </li>
          )
        })}
      </ul>
      {loading && <p className="px-4 py-3 text-sm text-muted">Loading more …</p>}
    </div>
  )
}
