/** Columns with their parts one upon the other, drawn without a library; the same as a table for those who read it. */
import type { ReactNode } from 'react'
import { type Column, topOf } from './columns.ts'

const HEIGHT = 100
const WIDTH = 10
const GAP = 2

interface Props<Part extends string> {
  /** What it shows, for those who cannot see it. */
  readonly label: string
  readonly columns: readonly Column<Part>[]
  readonly parts: readonly Part[]
  readonly look: (part: Part) => {
    readonly name: string
    readonly fill: string
    readonly dot: string
  }
  readonly time: (at: number) => string
  /** Every so many columns have their time beneath. */
  readonly every: number
  /** More of a column, as columns of the table. */
  readonly more?: readonly {
    readonly name: string
    readonly of: (column: Column<Part>) => string
  }[]
}

export function Plot<Part extends string>(props: Props<Part>) {
  const { columns, parts, look, time, every } = props
  const top = topOf(columns.map(({ total }) => total))
  return (
    <figure>
      <div className="flex gap-2">
        <Scale top={top.toLocaleString()} bottom="0" />
        <svg
          role="img"
          aria-label={props.label}
          viewBox={`0 0 ${columns.length * WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="h-32 min-w-0 flex-1 border-b border-line"
        >
          <line
            x1="0"
            x2="100%"
            y1={HEIGHT / 2}
            y2={HEIGHT / 2}
            className="stroke-line"
            strokeWidth="0.6"
          />
          {columns.map((column, index) => (
            <g key={column.key}>
              <title>{titleOf(column, props)}</title>
              <rect x={index * WIDTH} width={WIDTH} height={HEIGHT} className="fill-transparent" />
              <Stack
                column={column}
                x={index * WIDTH + GAP / 2}
                top={top}
                parts={parts}
                look={look}
              />
            </g>
          ))}
        </svg>
      </div>
      <Times columns={columns} time={time} every={every} />
      <Legend>
        {parts.map((part) => (
          <span key={part} className="flex items-center gap-1.5">
            <span
              aria-hidden="true"
              className={`inline-block size-2 rounded-full ${look(part).dot}`}
            />
            {look(part).name}
          </span>
        ))}
      </Legend>
      <AsTable {...props} />
    </figure>
  )
}

function titleOf<Part extends string>(column: Column<Part>, { parts, look, time }: Props<Part>) {
  const counts = parts.flatMap((part) =>
    column.parts[part] === undefined ? [] : [`${look(part).name} ${column.parts[part]}`],
  )
  return `${time(column.at)}: ${counts.length === 0 ? 'nothing' : counts.join(', ')}`
}

function Stack<Part extends string>(props: {
  column: Column<Part>
  x: number
  top: number
  parts: readonly Part[]
  look: Props<Part>['look']
}) {
  const { column, x, top, parts, look } = props
  let below = 0
  return parts.map((part) => {
    const height = ((column.parts[part] ?? 0) / top) * HEIGHT
    below += height
    if (height === 0) return null
    return (
      <rect
        key={part}
        x={x}
        y={HEIGHT - below}
        width={WIDTH - GAP}
        // A single one is still to be seen beside thousands.
        height={Math.max(1, height)}
        className={look(part).fill}
      />
    )
  })
}

/** What the top and the bottom of a plot stand for. */
export function Scale({ top, bottom }: { top: string; bottom: string }) {
  return (
    <div className="flex w-12 shrink-0 flex-col justify-between text-right text-xs text-muted tabular-nums">
      <span>{top}</span>
      <span>{bottom}</span>
    </div>
  )
}

export function Times(props: {
  columns: readonly Column<string>[]
  time: (at: number) => string
  every: number
}) {
  const { columns, time, every } = props
  return (
    <div aria-hidden="true" className="mt-1 ml-14 flex text-xs text-muted">
      {columns.map(({ key, at }, index) => (
        <span key={key} className="min-w-0 flex-1 overflow-visible text-center">
          {index % every === 0 ? time(at) : ''}
        </span>
      ))}
    </div>
  )
}

function Legend({ children }: { children: ReactNode }) {
  return (
    <figcaption className="mt-2 ml-14 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
      {children}
    </figcaption>
  )
}

function AsTable<Part extends string>({
  label,
  columns,
  parts,
  look,
  time,
  more = [],
}: Props<Part>) {
  const some = columns.filter(({ total }) => total > 0)
  if (some.length === 0) return null
  return (
    <details className="mt-3 text-[13px]">
      <summary className="text-muted">As a table</summary>
      <div className="mt-2 overflow-x-auto">
        <table className="w-full text-left tabular-nums">
          <caption className="sr-only">{label}</caption>
          <thead className="text-muted">
            <tr>
              {[
                'When',
                ...parts.map((part) => look(part).name),
                ...more.map(({ name }) => name),
              ].map((name) => (
                <th key={name} scope="col" className="py-1 pr-4 font-normal">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {some.map((column) => (
              <tr key={column.key}>
                <th scope="row" className="py-1 pr-4 font-normal whitespace-nowrap">
                  {time(column.at)}
                </th>
                {parts.map((part) => (
                  <td key={part} className="py-1 pr-4">
                    {column.parts[part]?.toLocaleString() ?? '–'}
                  </td>
                ))}
                {more.map(({ name, of }) => (
                  <td key={name} className="py-1 pr-4">
                    {of(column)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
