/** A dense table of any length: only rows in sight are drawn, and the page scrolls, not a box within it. */
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Skeleton } from '../parts/skeleton.tsx'

const ROW_PX = 37
const OVERSCAN = 4
/** This near to the end the next page is asked for. */
const NEAR_ROWS = 40

export interface Column<T> {
  readonly name: string
  readonly cell: (row: T) => ReactNode
  /** Of header and cells: its width, say. */
  readonly className?: string
  /** Left out on a narrow screen. */
  readonly wide?: boolean
}

export interface Selection {
  readonly chosen: ReadonlySet<string>
  readonly choose: (keys: ReadonlySet<string>) => void
}

interface Props<T> {
  readonly label: string
  readonly columns: readonly Column<T>[]
  /** Undefined while the first ones are on their way. */
  readonly rows: readonly T[] | undefined
  readonly keyOf: (row: T) => string
  /** What a row is called, for its checkbox. */
  readonly nameOf?: (row: T) => string
  readonly selection?: Selection
  readonly more?: boolean
  readonly loading?: boolean
  readonly onMore?: () => void
}

export function Table<T>(props: Props<T>) {
  const { label, columns, rows = [], keyOf, nameOf, selection, more = false } = props
  const { body, drawn, before, after, measure } = useRowWindow(props)
  const across = columns.length + (selection === undefined ? 0 : 1)
  if (props.rows === undefined) return <Skeleton rows={8} />
  return (
    <div className="rounded-lg border border-line bg-panel">
      <table
        aria-label={label}
        aria-rowcount={more ? -1 : rows.length + 1}
        className="w-full table-fixed text-left text-[13px] leading-5 max-md:block"
      >
        <thead className="max-md:sr-only">
          <tr>
            {selection !== undefined && (
              <th scope="col" className="w-9 border-b border-line py-2 pl-3">
                <SelectAll rows={rows} keyOf={keyOf} selection={selection} />
              </th>
            )}
            {columns.map(({ name, className = '' }) => (
              <th
                key={name}
                scope="col"
                className={`truncate border-b border-line px-2 py-2 text-xs font-medium text-muted first:pl-3 last:pr-3 ${className}`}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} className="max-md:block">
          <Space px={before} across={across} />
          {drawn.map(({ index }) => {
            const row = rows[index]
            if (row === undefined) return null
            const key = keyOf(row)
            return (
              <tr
                key={key}
                ref={measure}
                data-index={index}
                aria-rowindex={index + 2}
                className="relative border-line not-last:border-b hover:bg-sunk/60 has-checked:bg-sunk max-md:flex max-md:flex-wrap max-md:items-center max-md:gap-x-3 max-md:px-3 max-md:py-2"
              >
                {selection !== undefined && (
                  <td className="relative z-10 py-2 pl-3 max-md:p-0">
                    <SelectOne name={nameOf?.(row) ?? key} value={key} selection={selection} />
                  </td>
                )}
                {columns.map(({ name, cell, className = '', wide }) => (
                  <td
                    key={name}
                    className={`truncate px-2 py-2 align-middle first:pl-3 last:pr-3 max-md:w-auto! max-md:max-w-full max-md:p-0! max-md:text-left! ${className} ${wide ? 'max-md:hidden' : ''}`}
                  >
                    {cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
          <Space px={after} across={across} />
        </tbody>
      </table>
      {props.loading && rows.length > 0 && <p className="px-3 py-2 text-muted">Loading more …</p>}
    </div>
  )
}

/** In place of the rows that are not drawn. */
function Space({ px, across }: { px: number; across: number }) {
  if (px <= 0) return null
  return (
    <tr className="max-md:block">
      <td colSpan={across} style={{ height: px }} className="p-0 max-md:block" />
    </tr>
  )
}

function useRowWindow<T>({ rows = [], keyOf, more = false, loading = false, onMore }: Props<T>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [margin, setMargin] = useState(0)
  // What stands above may grow and shrink: filters, an error.
  useLayoutEffect(() => {
    const look = () => {
      const top = body.current?.getBoundingClientRect().top
      if (top !== undefined) setMargin(Math.round(top + window.scrollY))
    }
    look()
    const watching = new ResizeObserver(look)
    watching.observe(document.body)
    return () => watching.disconnect()
  }, [])
  const windowed = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    scrollMargin: margin,
    getItemKey: (index) => {
      const row = rows[index]
      return row === undefined ? index : keyOf(row)
    },
  })
  const drawn = windowed.getVirtualItems()
  const last = drawn.at(-1)
  const near = more && !loading && (last?.index ?? 0) >= rows.length - NEAR_ROWS
  useEffect(() => {
    if (near) onMore?.()
  }, [near, onMore])
  const before = (drawn[0]?.start ?? margin) - margin
  const after = windowed.getTotalSize() - ((last?.end ?? margin) - margin)
  return { body, drawn, before, after, measure: windowed.measureElement }
}

const BOX = 'block size-4 accent-accent'

interface SelectAllProps<T> {
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  readonly selection: Selection
}

function SelectAll<T>({ rows, keyOf, selection }: SelectAllProps<T>) {
  const all = rows.length > 0 && rows.every((row) => selection.chosen.has(keyOf(row)))
  return (
    <input
      type="checkbox"
      aria-label="Select all rows"
      className={BOX}
      checked={all}
      onChange={() => selection.choose(new Set(all ? [] : rows.map(keyOf)))}
    />
  )
}

function SelectOne(props: { name: string; value: string; selection: Selection }) {
  const { name, value, selection } = props
  const isChosen = selection.chosen.has(value)
  return (
    <input
      type="checkbox"
      aria-label={`Select ${name}`}
      className={BOX}
      checked={isChosen}
      onChange={() => {
        const next = new Set(selection.chosen)
        if (isChosen) next.delete(value)
        else next.add(value)
        selection.choose(next)
      }}
    />
  )
}
